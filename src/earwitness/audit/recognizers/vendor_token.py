"""Keys and tokens that carry their maker's mark: AWS, GitHub, OpenAI, Anthropic, Google, Slack, Stripe, others."""

import re

from earwitness.audit.recognizers.base import Found, Recognizer, by_pattern

_KINDS = {
    "AWS_KEY": r"(?:AKIA|ASIA|AGPA|AIDA|AROA)[A-Z0-9]{16}",
    "GITHUB_TOKEN": r"gh[pousr]_[A-Za-z0-9]{36,251}|github_pat_[A-Za-z0-9_]{22,255}",
    "GITLAB_TOKEN": r"gl(?:pat|dt|rt|ptt)-[A-Za-z0-9_-]{20,64}",
    "ANTHROPIC_KEY": r"sk-ant-[A-Za-z0-9_-]{20,200}",
    "OPENAI_KEY": r"sk-(?:proj-|svcacct-|admin-|None-)?[A-Za-z0-9_-]{20,200}",
    "SLACK_TOKEN": r"xox[abeprs]-[A-Za-z0-9-]{10,250}|xapp-[0-9]-[A-Za-z0-9-]{10,250}",
    "STRIPE_KEY": r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,247}|whsec_[A-Za-z0-9+/=]{24,64}",
    "GOOGLE_KEY": r"AIza[0-9A-Za-z_-]{35}|ya29\.[0-9A-Za-z_-]{20,400}",
    "SENDGRID_KEY": r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}",
    "HUGGINGFACE_TOKEN": r"hf_[A-Za-z0-9]{30,40}",
    "NPM_TOKEN": r"npm_[A-Za-z0-9]{36}",
    "PYPI_TOKEN": r"pypi-AgE[A-Za-z0-9_-]{40,300}",
    "DIGITALOCEAN_TOKEN": r"do[opr]_v1_[a-f0-9]{64}",
    "TELEGRAM_TOKEN": r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}",
    "GROQ_KEY": r"gsk_[A-Za-z0-9]{40,64}",
    "AZURE_STORAGE_KEY": r"AccountKey=[A-Za-z0-9+/]{60,90}={0,2}",
}
_TOKEN = re.compile(
    "|".join(rf"(?P<{name}>(?<![A-Za-z0-9_]){shape}(?![A-Za-z0-9_]))" for name, shape in _KINDS.items())
)


def _judge(text: str, match: "re.Match[str]") -> Found | None:
    token = match.group()
    if not any(c in "0123456789" for c in token[4:]):
        return None
    return Found(*match.span(), 0.98, token, strong=True, entity=match.lastgroup)


RECOGNIZER = Recognizer(
    name="vendor_token",
    entity="API_KEY",
    value_type="format_dependent",
    prefilter=(
        r"A(?:KIA|SIA|GPA|IDA|ROA)[A-Z0-9]|gh[pousr]_|github_pat_|gl(?:pat|dt|rt|ptt)-|sk-|xox[abeprs]-|xapp-|[srp]k_(?:live|test)_"
        r"|whsec_|AIza|ya29\.|SG\.|hf_|npm_|pypi-AgE|do[opr]_v1_|[0-9]:AA|gsk_|AccountKey="
    ),
    look=by_pattern(_TOKEN, _judge),
    reach=(16, 420),
)
