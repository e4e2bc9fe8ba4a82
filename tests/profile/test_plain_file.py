"""What bears the name of a file and is none: nothing is read of it, and nothing waits for it."""

import os
import socket

import pytest

from crosswind.profile.errors import FormatError
from crosswind.profile.plain_file import open_plain


def refusal(path, **limits):
    """Why it is not opened."""
    with pytest.raises(FormatError) as caught, open_plain(path, **limits):
        pass
    return caught.value.reason


def test_a_regular_file_is_opened_and_closed(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"content")
    with open_plain(path, largest=7, owners=[os.geteuid()]) as (file, status):
        assert (file.read(), status.st_size) == (b"content", 7)
        assert not os.get_inheritable(file.fileno())
    assert file.closed


def test_what_is_no_regular_file_is_refused(tmp_path):
    (tmp_path / "a").write_bytes(b"secret")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    (tmp_path / "dangling").symlink_to(tmp_path / "b")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    assert refusal(tmp_path / "link") == "is a symbolic link, no regular file"
    assert refusal(tmp_path / "dangling") == "is a symbolic link, no regular file"
    for path in (tmp_path / "pipe", tmp_path / "folder", "/dev/null"):
        assert refusal(path) == "is no regular file"


def test_a_socket_is_no_file(tmp_path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        assert refusal(tmp_path / "socket") == "is no regular file"


def test_size_and_owner_are_those_of_what_was_opened(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(bytes(2049))
    assert refusal(path, largest=2048) == "is larger than 2 KiB"
    assert refusal(path, owners=[os.geteuid() + 1]) == f"is of user {os.geteuid()}"
    with open_plain(path, owners=[os.geteuid()]) as (_, status):
        path.unlink()
        path.symlink_to("/etc/passwd")
        assert status.st_size == 2049


def test_what_is_gone_is_not_found(tmp_path):
    with pytest.raises(FileNotFoundError), open_plain(tmp_path / "a"):
        pass
