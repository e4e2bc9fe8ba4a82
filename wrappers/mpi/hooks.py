"""What a wrapper does for segments (segment.h, pending.h): C statements before the real call and once it is counted."""

from __future__ import annotations

from rows import Form, Function


def before(form: Form) -> list[str]:
    """Statements after the call was entered and before it is made."""
    function = form.function
    if function.boundary:
        if _has(form, "request"):  # asked afterwards: of a bad communicator the real call complains first, and alone
            return []
        return [
            "int cuts = call.outermost && xw_mpi_is_world_sized(comm);",
            *_pass(function, "!cuts && "),
            "if (cuts)",
            "    xw_segment_boundary();",
        ]
    if function.completes:
        return [
            "uint64_t slots = 0;",
            "if (XW_UNLIKELY(xw_mpi_pending()) && call.outermost)",
            f"    slots = xw_mpi_pending_find({_requests(form)}, {_waits(form)});",
            *_pass(function),
        ]
    if function.forgets:
        return [
            "if (XW_UNLIKELY(xw_mpi_pending() | xw_mpi_persistent()) && call.outermost)",
            "    xw_mpi_pending_forget(request);",
        ]
    return _pass(function)


def after(form: Form) -> list[str]:
    """Statements after the call was left."""
    function, name = form.function, f"XW_F_{form.function.name}"
    at_site = ["if (XW_UNLIKELY(passages))", f"    xw_segment_cut_at_site({name}, site, passages);"]
    if function.boundary:
        if _has(form, "request"):
            persistent = int(_has(form, "info"))
            return [
                "if (call.outermost && !error && xw_mpi_is_world_sized(comm))",
                f"    xw_mpi_pending_add(request, {name}, {persistent});",
            ]
        return ["if (cuts && !error)", f"    xw_segment_cut({name}, site, 1);", *at_site]
    if function.completes:
        done = f"xw_mpi_pending_done(slots, site, {_completed(form)})"
        failed = ["if (XW_UNLIKELY(slots) && error)", f"    xw_mpi_pending_failed(slots, {_requests(form)});"]
        if not function.recurs:
            return [*failed, "if (XW_UNLIKELY(slots) && !error)", f"    {done};"]
        return [*failed, f"if (XW_UNLIKELY(slots) && !error && {done})", "    passages = 0;", *at_site]
    if function.starts:
        return [
            "if (XW_UNLIKELY(xw_mpi_persistent()) && call.outermost && !error)",
            f"    xw_mpi_pending_start({_requests(form)});",
        ]
    return at_site if function.recurs else []


def _pass(function: Function, condition: str = "") -> list[str]:
    """The call may be a recurring site."""
    if not function.recurs and not function.boundary:
        return []
    return [
        "uint32_t passages = 0;",
        f"if (XW_UNLIKELY(xw_sites_are_watched()) && {condition}call.outermost)",
        f"    passages = xw_segment_pass(XW_F_{function.name}, site);",
    ]


def _has(form: Form, argument: str) -> bool:
    return form.kind(argument) is not None


def _requests(form: Form) -> str:
    """Where the handles are and how many."""
    if _has(form, "request"):
        return "request, 1"
    count = "incount" if _has(form, "incount") else "count"
    return f"array_of_requests, xw_mpi_int({count})"


def _waits(form: Form) -> int:
    """Whether it returns no earlier than a request is complete: computation ends before it. Else it is a test."""
    return int(form.function.name.startswith("MPI_Wait"))


def _completed(form: Form) -> str:
    """The arguments in which a wait or test says what is complete."""
    where = {"flag": ["flag"], "count": ["outcount"], "indices": ["index", "array_of_indices"]}
    given = [(field, name) for field, names in where.items() for name in names if _has(form, name)]
    inside = [f".waits = {_waits(form)}", *(f".{field} = (const int32_t *){name}" for field, name in given)]
    return f"(struct xw_mpi_completed){{{', '.join(inside)}}}"
