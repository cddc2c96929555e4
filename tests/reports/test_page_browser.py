"""The page in a real browser: it runs its own script, asks for nothing, and reads the same without script."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from earwitness.audit.pipeline import audit, read_request
from earwitness.audit.rulesets import DEFAULT
from earwitness.ingest.loader import Loader
from earwitness.reports.html import write_page
from earwitness.reports.summary import summary
from earwitness.schema.case import Case

SAMPLES = Path(__file__).parents[2] / "sample_traces" / "topologies"
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-default-apps",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--hide-scrollbars",
    "--virtual-time-budget=3000",
    "--enable-logging=stderr",
    "--v=0",
)

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def chromium() -> str:
    found = os.environ.get("CHROMIUM") or next((p for p in map(shutil.which, NAMES) if p), None)
    if not found:
        pytest.skip(f"no Chromium binary ({', '.join(NAMES)}); name one in CHROMIUM")
    return found


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("page") / "report.html"
    with Case() as case:
        Loader(case).load([SAMPLES / "traces.jsonl"])
        audit(case, read_request(SAMPLES / "policy.yaml", None, DEFAULT))
        write_page(case, summary(case), target)
    return target


def run(chromium: str, page: Path, tmp_path: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    command = [chromium, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", *flags, page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done


def complaints(stderr: str) -> list[str]:
    return [line for line in stderr.splitlines() if "CONSOLE" in line or "Content Security Policy" in line]


def test_page_runs_without_a_complaint(chromium: str, report: Path, tmp_path: Path) -> None:
    done = run(chromium, report, tmp_path, "--dump-dom")
    assert complaints(done.stderr) == []
    assert re.search(r"In \d+ of \d+ traces a protected value reached someone who may not know it\.", done.stdout)
    # The script ran: it alone takes `hidden` from the filter.
    assert re.search(r'<div class="filter" id="filter-box">', done.stdout)


def test_policy_of_the_page_is_enforced(chromium: str, report: Path, tmp_path: Path) -> None:
    """The check above can fail: an injected script and image are refused, and said to be."""
    tampered = tmp_path / "tampered.html"
    extra = "<img src='https://example.invalid/x.png'><script>document.title = 'owned'</script>"
    tampered.write_text(report.read_text("utf-8").replace("<main", extra + "<main"), "utf-8")
    done = run(chromium, tampered, tmp_path, "--dump-dom")
    assert complaints(done.stderr)
    assert "<title>owned</title>" not in done.stdout


def requests_of(chromium: str, page: Path, tmp_path: Path) -> list[str]:
    """What the page asked for; the browser's own chatter has no page to belong to."""
    log = tmp_path / "net.json"
    run(chromium, page, tmp_path, f"--log-net-log={log}", "--dump-dom")
    params = [e.get("params") or {} for e in json.loads(log.read_text("utf-8"))["events"]]
    return [p["url"] for p in params if "url" in p and "file://" in str(p.get("network_isolation_key"))]


def test_page_asks_the_network_for_nothing(chromium: str, report: Path, tmp_path: Path) -> None:
    assert requests_of(chromium, report, tmp_path) == []


def test_a_page_that_asks_is_caught(chromium: str, tmp_path: Path) -> None:
    leaky = tmp_path / "leaky.html"
    leaky.write_text("<!doctype html><img src='http://127.0.0.1:9/x.png'>", "utf-8")
    assert requests_of(chromium, leaky, tmp_path) == ["http://127.0.0.1:9/x.png"]


def test_filter_hides_what_does_not_fit(chromium: str, report: Path, tmp_path: Path) -> None:
    typed = tmp_path / "typed.html"
    source = re.sub(r"<meta http-equiv[^>]*>", "", report.read_text("utf-8"))
    act = (
        "const f = document.getElementById('filter'); f.value = 'fraud_check SSN'; f.dispatchEvent(new Event('input'));"
    )
    typed.write_text(source.replace("</body>", f"<script>{act}</script></body>"), "utf-8")
    dom = run(chromium, typed, tmp_path, "--dump-dom").stdout
    shown = len(re.findall(r'<article class="finding">', dom))
    assert 0 < shown < dom.count('class="finding"')
    assert f">{shown} shown<" in dom


@pytest.mark.parametrize("width", [1280, 700])
def test_page_can_be_drawn(chromium: str, report: Path, tmp_path: Path, width: int) -> None:
    shot = tmp_path / "page.png"
    run(chromium, report, tmp_path, f"--window-size={width},2000", f"--screenshot={shot}")
    head = shot.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(head[16:20], "big") == width
    assert shot.stat().st_size > 50_000


def test_page_reads_without_script(chromium: str, report: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.html"
    bare.write_text(re.sub(r"<script>.*?</script>", "", report.read_text("utf-8"), flags=re.S), "utf-8")
    with_script, without = (run(chromium, p, tmp_path, "--dump-dom").stdout for p in (report, bare))
    assert with_script.count('class="finding"') == without.count('class="finding"') > 0
    assert "hidden" in re.search(r'<div class="filter"[^>]*>', without)[0]  # type: ignore[index]
