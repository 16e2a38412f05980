"""Secrets go, whatever stands around them; what is no secret stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastrecall.search.redaction import redact

# Put together here, so that no scanner takes this file for a leak.
SECRETS = {
    "GitHub token": ["ghp_" + "aB3d" * 9, "ghs_" + "x" * 36, "github_pat_" + "a1_B" * 20],
    "GitLab token": ["glpat-" + "abcde12345" * 2],
    "AWS key id": ["AKIA" + "ABCDEFGHIJKLMNOP", "ASIA" + "1234567890ABCDEF"],
    "API key": ["sk-" + "abc123" * 8, "sk-proj-" + "A_b-9" * 10, "sk_live_" + "a1" * 12],
    "Google API key": ["AIza" + "a" * 35],
    "Slack token": ["xoxb-" + "1234567890-abcdef"],
    "Hugging Face token": ["hf_" + "aBcD" * 8],
    "npm token": ["npm_" + "a1" * 18],
    "PyPI token": ["pypi-" + "AgEIcHlwaS5vcmc" * 4],
    "JSON web token": ["eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + "c2lnbmF0dXJl"],
    "private key": [
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nAbc=\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\ncut off here",
    ],
}
CASES = [(what, secret) for what, secrets in SECRETS.items() for secret in secrets]


@pytest.mark.parametrize(("what", "secret"), CASES)
def test_each_shape_is_redacted_in_text(what: str, secret: str) -> None:
    for text in (secret, f"see {secret}", f'"{secret}"', f"ключ={secret}"):
        redacted = redact(text)
        assert secret not in redacted
        assert f"[redacted: {what}]" in redacted
    assert redact(f"before {SECRETS['GitHub token'][0]}, after") == (
        "before [redacted: GitHub token], after"
    )


def test_credentials_in_headers_addresses_and_settings_are_redacted() -> None:
    assert redact("Authorization: Bearer abcdef1234567890abcd") == (
        "Authorization: Bearer [redacted: credentials]"
    )
    assert redact("-H 'authorization: Basic dXNlcjpwYXNzd29yZDEyMw=='") == (
        "-H 'authorization: Basic [redacted: credentials]'"
    )
    assert redact("git clone https://ann:pa55@example.org/r") == (
        "git clone https://ann:[redacted: password]@example.org/r"
    )
    key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY"
    assert key not in redact(f"aws_secret_access_key = {key}")


@pytest.mark.parametrize(
    "text",
    [
        "The bearer of authentication_tokens_everywhere",
        "task-based scheduling in risk-management-and-so-forth",
        "https://example.org:8080/path and user@example.org",
        "commit 0123456789abcdef0123456789abcdef01234567",
        "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
        "AKIA is the prefix of AWS keys; sk-learn; ghp_ too",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact(text) == text


@given(st.lists(st.sampled_from([secret for _, secret in CASES] + ["a", " ", "\n", "é", ":"])))
def test_redacting_again_changes_nothing(parts: list[str]) -> None:
    once = redact("".join(parts))
    assert redact(once) == once
