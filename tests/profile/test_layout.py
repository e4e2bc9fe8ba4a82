"""The reader's structures are the compiler's."""

import subprocess
from pathlib import Path

from crosswind.profile import layout
from support import spools

ROOT = Path(__file__).resolve().parents[2]
STRUCTS = {
    "xw_spool_header": layout.HEADER,
    "xw_thread_head": layout.THREAD_HEAD,
    "xw_chunk": layout.CHUNK,
    "xw_instant": layout.INSTANT,
    "xw_segment_slot_head": layout.ROW_HEAD,
}
CONSTANTS = {
    "XW_HEADER_SIZE": layout.HEADER_SIZE,
    "XW_MAX_CHUNKS": layout.MAX_CHUNKS,
    "XW_SPOOL_VERSION": layout.VERSION,
    "XW_SHORT_VERSION": layout.SHORT_VERSION,
    **{f"XW_CHUNK_{k.name}": k for k in layout.ChunkKind},
    **{f"XW_STATE_{k.name}": k for k in layout.State},
    **{f"XW_SLOT_{k.name}": k for k in layout.SlotState},
    **{f"XW_SLICE_{k.name}": k for k in layout.SliceFlag},
}


def test_structures_and_constants_agree_with_format_h(tmp_path):
    lines = ['#include "format.h"', "#include <stddef.h>", "#include <stdio.h>", "int main(void) {"]
    expected = []
    for struct, dtype in STRUCTS.items():
        for name in dtype.names:
            lines.append(
                f'printf("%zu %zu\\n", offsetof(struct {struct}, {name}), sizeof ((struct {struct} *)0)->{name});'
            )
            field, offset = dtype.fields[name][:2]
            expected.append(f"{offset} {field.itemsize}")
        lines.append(f'printf("%zu\\n", sizeof(struct {struct}));')
        expected.append(str(dtype.itemsize))
    for name, value in CONSTANTS.items():
        lines.append(f'printf("%d\\n", (int){name});')
        expected.append(str(int(value)))
    (tmp_path / "layout.c").write_text("\n".join([*lines, "return 0; }"]))
    subprocess.run(["cc", "-I", ROOT / "libprofiler", "-o", tmp_path / "layout", tmp_path / "layout.c"], check=True)
    found = subprocess.run([tmp_path / "layout"], check=True, capture_output=True, text=True).stdout
    assert found.split("\n")[:-1] == expected
    assert layout.HEADER.itemsize <= layout.HEADER_SIZE
    assert layout.HEADER.fields["n_chunks"][1] == spools.N_CHUNKS_AT
