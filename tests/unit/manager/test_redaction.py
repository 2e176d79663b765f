"""What looks like a secret does not reach the log, from any source."""

import io
import json

import pytest
import structlog

from config.sections.process import Logging
from config.types.choices import LogFormat
from manager.logging.logs import configure_logging, get_log
from manager.logging.redaction import HIDDEN, redacted, visible

SECRET = "S3CR3T-value-of-a-secret"

TEXTS = {
    "a header": f"Authorization: Bearer {SECRET}",
    "basic authentication": f"basic {SECRET}",
    "a service account's token": "eyJhbGciOiJSUzI1NiJ9.eyJTM0NSM1QiOjF9.S3CR3T",
    "a URL": f"http://user:{SECRET}@proxy.example:3128/",
    "a key": f"-----BEGIN EC PRIVATE KEY-----\n{SECRET}\n-----END EC PRIVATE KEY-----",
    "half a key": f"-----BEGIN PRIVATE KEY-----\n{SECRET}",
    "a kubeconfig": f"users:\n- user:\n    token: {SECRET}\n",
    "a kubeconfig in JSON": f'{{"user": {{"password": "{SECRET}", "client-key-data": "{SECRET}"}}}}',
}


@pytest.mark.parametrize("case", TEXTS)
def test_it_is_hidden(case: str) -> None:
    found = redacted({"error": [TEXTS[case]]})["error"][0]
    assert "S3CR3T" not in found
    assert HIDDEN in found


@pytest.mark.parametrize("text", ["the token of user u holds characters", "https://worker:6443/apis", "bearer of news"])
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert redacted(text) == text


@pytest.mark.parametrize("form", LogFormat)
def test_both_forms_of_log_hide_and_escape(form: LogFormat) -> None:
    stream = io.StringIO()
    try:
        configure_logging(Logging(format=form), stream)
        try:
            raise ValueError(f"Bearer {SECRET}")
        except ValueError as error:
            get_log().error("it.failed", name="evil\x1b[2J\u202eworker", exc_info=error)
    finally:
        structlog.reset_defaults()
    text = stream.getvalue()
    assert "S3CR3T" not in text
    assert "\x1b[2J" not in text
    assert "\u202e" not in text
    if form is LogFormat.JSON:
        assert json.loads(text)["event"] == "it.failed"


def test_names_and_messages_of_workers_are_made_visible_in_whole_documents() -> None:
    document = {"workers": [{"name": "w1", "message": "gone\x1b]0;title\x07", "copies": 3, "none": None}]}
    assert visible(document) == {
        "workers": [{"name": "w1", "message": "gone\\x1b]0;title\\x07", "copies": 3, "none": None}]
    }
    assert visible("first line\nsecond line") == "first line\nsecond line"
