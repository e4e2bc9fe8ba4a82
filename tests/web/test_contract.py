"""schemathesis asks the API whatever its own description allows, and what it does not, and checks each answer by it."""

from __future__ import annotations

import time

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.generation import GenerationMode

from crosswind.db import open_database
from crosswind.db.tokens import SCOPES, create_token
from support.neighbours import make_neighbours
from support.viewers import proxied_app

OPERATIONS = (
    "/api/v1/jobs",
    "/api/v1/jobs/{key}",
    "/api/v1/jobs/{key}/access",
    "/api/v1/jobs/{key}/timeline",
    "/api/v1/jobs/{key}/untrusted",
    "/api/v1/jobs/{key}/background",
    "/api/v1/series/names",
    "/api/v1/series/job",
    "/api/v1/series/background",
    "/api/v1/series/system",
)
EXAMPLES = 25  # of each operation and mode


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory):
    """The description as the application gives it, and the headers that open the API for alice."""
    url = make_neighbours(tmp_path_factory.mktemp("contract"))
    app = proxied_app(url, proxy={"trusted": ["unix"], "header": "X-Remote-User"})
    now_ns = time.time_ns()
    engine = open_database(url)
    secret = create_token(
        engine, owner="alice", name="t", scopes=list(SCOPES), now_ns=now_ns, lifetime_ns=3600 * 10**9
    )[1]
    engine.dispose()
    headers = {"Authorization": f"Bearer {secret}", "Accept-Encoding": "identity"}
    return schemathesis.openapi.from_wsgi("/api/v1/openapi.json", app, headers=headers), headers


def test_every_operation_is_asked(described) -> None:
    schema, _ = described
    assert {operation.ok().path for operation in schema.get_all_operations()} == set(OPERATIONS)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.name.lower())
@pytest.mark.parametrize("path", OPERATIONS)
def test_answers_keep_to_the_description(described, path: str, mode: GenerationMode) -> None:
    schema, headers = described
    asked = set()

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=schema[path]["GET"].as_strategy(generation_mode=mode))
    def ask(case) -> None:
        if mode is GenerationMode.POSITIVE:
            _of_what_is_there(case)
        answer = case.call(headers=headers)
        asked.add(answer.status_code)
        case.validate_response(answer, headers=headers)

    ask()
    assert asked <= {200, 400, 404}
    assert mode is GenerationMode.NEGATIVE or 200 in asked


def _of_what_is_there(case) -> None:
    """Of the keys that the description allows hardly any is of a job; and it cannot say that `to` is behind `from`."""
    if "key" in (case.path_parameters or {}):
        case.path_parameters["key"] = 1
    if "job" in (case.query or {}):
        case.query["job"] = 1
    if case.path.endswith("/system"):
        case.query |= {"from": 1_760_000_000_000, "to": 1_760_000_600_000, "resource": "net"}
