"""The words of the domain as types, the tables of a case, the policy model and the case store."""
