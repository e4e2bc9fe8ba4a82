"""Each source on trees in the form of real systems. The expected numbers were worked out from the files by hand."""

from pathlib import Path

import pytest

from crosswind.collector.agent.metrics import BY_NAME, SOURCES, page
from crosswind.collector.agent.sample import read_sources
from crosswind.collector.agent.sources import READERS
from crosswind.profile.metrics import METRICS

FIXTURES = Path(__file__).parent / "fixtures"
COMPUTE = FIXTURES / "compute"


def read(source, tree=COMPUTE):
    return READERS[source](tree)


def whole(source, tree=COMPUTE):
    """The values of a source of the whole node, by metric."""
    values = read(source, tree)
    assert {instance for _, instance in values} == {""}
    return {metric: value for (metric, _), value in values.items()}


def of(instance, values):
    return {metric: value for (metric, i), value in values.items() if i == instance}


def test_table_and_sources_are_the_same():
    assert READERS.keys() == {source.name for source in SOURCES}
    assert not BY_NAME.keys() & {metric.name for metric in METRICS}, "a job's and a node's metric have one name"
    for source in SOURCES:
        names = {column.name for column in source.metrics}
        for tree in FIXTURES.iterdir():
            assert {metric for metric, _ in read(source.name, tree)} <= names


def test_page_is_current():
    assert (Path(__file__).parents[3] / "docs/node-metrics.md").read_text() == page(), "run `make generate`"


def test_every_metric_is_read_in_some_fixture():
    found = {metric for tree in FIXTURES.iterdir() for metric, _ in read_sources(tree)[0]}
    assert BY_NAME.keys() - found == set()


def test_what_a_node_does_not_have_is_absent(tmp_path):
    assert read_sources(tmp_path) == ({}, [])


def test_a_source_in_a_form_that_is_not_known_does_not_hide_the_others(tmp_path):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/stat").write_text("cpu  what 1 2\n")
    (tmp_path / "proc/vmstat").write_text("oom_kill 3\n")
    assert read_sources(tmp_path) == ({("vm_oom_kills", ""): 3}, ["cpu"])


def test_a_file_without_end_is_absent(tmp_path):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/vmstat").write_text("oom_kill 3\n" * 200_000)
    assert read("vmstat", tmp_path) == {}


def test_cpu():
    tick = 10_000_000
    assert whole("cpu") == {
        "cpu_user": 8014210 * tick, "cpu_nice": 1242 * tick, "cpu_system": 934115 * tick, "cpu_idle": 61092337 * tick,
        "cpu_iowait": 20311 * tick, "cpu_irq": 0, "cpu_softirq": 14822 * tick, "cpu_steal": 913 * tick,
        "cpu_switches": 1823409112, "cpu_forks": 2210341, "cpu_runnable": 3, "cpu_blocked": 1,
    }  # fmt: skip


def test_cpufreq_counts_a_package_once():
    assert whole("cpufreq") == {
        "cpu_frequency": 2_550_000_000,
        "cpu_frequency_min": 2_400_000_000,
        "cpu_core_throttles": 0 + 2 + 4 + 6,
        "cpu_package_throttles": 10 + 30,
    }


def test_memory():
    kib = 1024
    assert whole("memory") == {
        "mem_total": 263856100 * kib, "mem_available": 240118220 * kib, "mem_cached": 38112340 * kib,
        "mem_dirty": 12044 * kib, "mem_writeback": 256 * kib, "swap_used": (8388604 - 8380412) * kib,
    }  # fmt: skip


def test_vmstat_sums_the_zones():
    assert whole("vmstat") == {
        "vm_swap_in": 12, "vm_swap_out": 2060, "vm_major_faults": 20211, "vm_direct_reclaim": 341, "vm_oom_kills": 2,
        "vm_numa_misses": 31122,
    }  # fmt: skip


def test_pressure():
    assert whole("pressure") == {
        "psi_cpu_some": 12345678000, "psi_io_some": 9900210000, "psi_io_full": 8800100000,
        "psi_memory_some": 4321000, "psi_memory_full": 1234000,
    }  # fmt: skip


def test_network_counts_hardware_only():
    values = read("network")
    assert {device for _, device in values} == {"eno1", "ib0"}
    assert of("eno1", values) == {
        "net_rx_bytes": 8812331209, "net_rx_packets": 7012331, "net_rx_errors": 3, "net_rx_dropped": 17,
        "net_tx_bytes": 1209331201, "net_tx_packets": 3312209, "net_tx_errors": 1, "net_tx_dropped": 2,
    }  # fmt: skip


def test_network_without_hardware_counts_all_but_the_loopback(tmp_path):
    (tmp_path / "proc/net").mkdir(parents=True)
    (tmp_path / "proc/net/dev").write_text((COMPUTE / "proc/net/dev").read_text())
    assert {device for _, device in read("network", tmp_path)} == {"eno1", "ib0", "bond0", "docker0"}


def test_infiniband():
    values = read("infiniband")
    assert of("mlx5_0/1", values) == {
        "ib_tx_bytes": 4 * 902331220112, "ib_rx_bytes": 4 * 880123312200, "ib_tx_packets": 12033120011,
        "ib_rx_packets": 11902331201, "ib_tx_wait": 90122331, "ib_tx_discards": 4, "ib_rx_errors": 2,
        "ib_symbol_errors": 1, "ib_link_downed": 1, "ib_ecn_marked": 77, "ib_cnp_handled": 66,
    }  # fmt: skip


def test_a_counter_that_is_stuck_at_the_top_of_its_32_bits_is_absent():
    assert of("mthca0/1", read("infiniband")) == {
        "ib_rx_bytes": 4000, "ib_tx_packets": 50, "ib_rx_packets": 60, "ib_symbol_errors": 0,
    }  # fmt: skip


def test_omnipath_is_not_taken_for_infiniband():
    tree = FIXTURES / "omnipath"
    assert read("infiniband", tree) == {}
    assert of("hfi1_0/1", read("omnipath", tree)) == {
        "opa_tx_bytes": 16000, "opa_rx_bytes": 20000, "opa_tx_packets": 40, "opa_rx_packets": 50, "opa_tx_wait": 777,
    }  # fmt: skip


def test_lustre_client_sums_mounts_and_targets():
    values = read("lustre_client")
    assert of("work1", values) == {
        "lustre_read_bytes": 2446905945284 + 40960, "lustre_read_calls": 632846 + 10,
        "lustre_write_bytes": 1805014315717, "lustre_write_calls": 575477,
        "lustre_meta_calls": 8275 + 8272 + 5 + 2887 + 20417 + 1133 + 812 + 10,
        "lustre_ost_requests": 2193784 + 16, "lustre_ost_wait": (22792548119 + 4000) * 1000,
        "lustre_ost_read_bytes": 452705124352, "lustre_ost_write_bytes": 249338619646 + 1048577,
        "lustre_mdt_requests": 1885503, "lustre_mdt_wait": 908745020000,
    }  # fmt: skip
    assert of("home", values)["lustre_meta_calls"] == 7
    assert of("home", values)["lustre_read_bytes"] == 0, "a line appears with the first read"


def test_lustre_client_of_a_newer_release_in_debugfs():
    values = of("scratch", read("lustre_client", FIXTURES / "omnipath"))
    assert (values["lustre_read_bytes"], values["lustre_write_calls"]) == (5242880, 4)
    assert values["lustre_meta_calls"] == 1 + 16977 + 2 + 5


def test_lustre_object_server():
    values = read("lustre_server", FIXTURES / "oss")
    assert of("work1-OST0000", values) == {
        "ost_read_bytes": 612611321090048, "ost_read_calls": 1590792638, "ost_write_bytes": 33554431,
        "ost_write_calls": 9,
    }  # fmt: skip
    assert of("work1-OST0001", values)["ost_write_bytes"] == 388227
    assert of("ost_io", values) == {"lustre_service_requests": 18419628, "lustre_service_wait": 305482965000}


def test_lustre_metadata_server_counts_a_rename_once():
    values = read("lustre_server", FIXTURES / "mds")
    assert of("work1-MDT0000", values) == {"mdt_calls": 293 + 675 + 3 + 1}
    assert of("mdt", values)["lustre_service_wait"] == 586616437586000


def test_nfs_client_counts_a_file_system_mounted_twice_once():
    ms = 1_000_000
    values = read("nfs_client")
    assert of("nfs1", values) == {
        "nfs_read_bytes": 5000 + 10, "nfs_write_bytes": 7000, "nfs_calls": 1 + 10 + 5 + 100 + 1 + 2 + 0 + 100,
        "nfs_retransmissions": 2, "nfs_timeouts": 1, "nfs_queue_time": (3 + 30 + 5 + 5) * ms,
        "nfs_wait": (200 + 100 + 50 + 4 + 50) * ms,
    }  # fmt: skip
    assert of("[fe80::1%eth0]", values)["nfs_write_bytes"] == 32


def test_nfs_server():
    assert whole("nfs_server", FIXTURES / "nfsd") == {
        "nfsd_read_bytes": 157286400, "nfsd_write_bytes": 72864, "nfsd_calls": 18628,
    }  # fmt: skip


def test_disk_leaves_out_what_moves_the_same_bytes_again():
    ms = 1_000_000
    values = read("disk")
    assert {disk for _, disk in values} == {"sda", "nvme0n1"}
    assert of("sda", values) == {
        "disk_reads": 40123, "disk_read_bytes": 3212312 * 512, "disk_read_time": 20112 * ms, "disk_writes": 90121,
        "disk_write_bytes": 12312312 * 512, "disk_write_time": 190122 * ms, "disk_in_flight": 2,
        "disk_busy": 80112 * ms,
    }  # fmt: skip


@pytest.mark.parametrize("source", ["cpu", "memory", "vmstat"])
def test_sources_of_this_machine(source):
    assert read(source, Path("/")), "this machine has it: it is Linux"
