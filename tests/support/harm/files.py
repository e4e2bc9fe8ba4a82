# ruff: noqa: E501 - a table: one row a line
"""Files: archives, databases, version control, compilers and builds."""

from __future__ import annotations

from support.harm.case import Case

__all__ = ["CASES"]

SLOW = "slow, and no process of it lives for two seconds"
C_HELLO = "printf '#include <stdio.h>\\nint main(void){puts(\"hi\");return 0;}\\n' > hello.c"
GIT = """
export GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z' HOME=$PWD GIT_CONFIG_NOSYSTEM=1
git init -q -b main repo && cd repo && git config user.name x && git config user.email x@example.org
for i in $(seq 30); do seq $i 400 > file$i; done; git add . && git commit -q -m one
for i in $(seq 10); do echo more >> file$i; done; git commit -q -a -m two
git rev-parse HEAD HEAD^{tree}; git gc -q; git fsck --no-progress; git log --oneline | cat; git diff HEAD~ --stat
git clone -q --no-local . ../copy 2>&1; git -C ../copy rev-parse HEAD; git -C ../copy fsck --no-progress
rm -rf .git/logs .git/objects/info/commit-graph* .git/index ../copy/.git/logs ../copy/.git/index
"""
MAKEFILE = (
    "printf 'all: $(patsubst %%,f%%,1 2 3 4 5 6 7 8)\\nf%%:\\n\\t@sleep 0.05; seq $* 1000 | sort -r > $@\\n' > Makefile"
)
LTO = """
for i in $(seq 8); do printf 'int f%d(int x) { int s = 0; for (int i = 0; i < x; i++) s += i %% %d; return s; }\\n' $i $i > f$i.c; done
(for i in $(seq 8); do echo "int f$i(int);"; done; echo 'int main(void) { return (f1(9) + f2(9) + f8(9)) % 100; }') > main.c
gcc -O2 -flto=2 -flto-partition=max *.c -o lto; ./lto; echo $?; md5sum lto
"""
AUTOCONF = """
printf 'AC_INIT([harm], [1])\\nAC_PROG_CC\\nAC_CHECK_HEADERS([stdio.h nope.h])\\nAC_CHECK_FUNCS([pread])\\nAC_CONFIG_HEADERS([config.h])\\nAC_CONFIG_FILES([Makefile])\\nAC_OUTPUT\\n' > configure.ac
echo '/* none */' > config.h.in; echo 'all: ; @echo @CC@ @PACKAGE_NAME@' > Makefile.in
autoconf && ./configure; make; rm -rf autom4te.cache config.log
"""
CMAKE = """
printf 'cmake_minimum_required(VERSION 3.16)\\nproject(harm C)\\nadd_library(h SHARED h.c)\\nadd_executable(p hello.c)\\ntarget_link_libraries(p h)\\n' > CMakeLists.txt
echo 'int h(void) { return 1; }' > h.c; cmake -S . -B build > out; tail -1 out | cut -c1-10; make -s -C build -j2 && build/p; md5sum < build/p; rm -rf build out
"""
SQLITE = """
import sqlite3, threading
def insert(name):
    c = sqlite3.connect("d.db", timeout=30); c.execute("pragma synchronous=off")
    for i in range(50):
        with c: c.execute("insert into t values (?, ?)", (name, i))
with sqlite3.connect("d.db") as c: c.execute("pragma journal_mode=wal"); c.execute("create table t (n, i)")
threads = [threading.Thread(target=insert, args=(n,)) for n in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
"""
SQLITE_CASE = f"""cat > s.py <<'X'\n{SQLITE}\nX
python3 -S -B s.py; sqlite3 d.db 'pragma integrity_check; pragma wal_checkpoint(truncate); select n, count(*), sum(i) from t group by n; vacuum'
sqlite3 d.db .dump | sort | md5sum; rm d.db*
"""
RSYNC = """
cp -r /usr/include/asm-generic a; rsync -a a/ b; echo more >> a/types.h; rm a/ioctl.h; rsync -rli --delete --checksum a/ b | cut -c1-11; diff -r a b; echo $?
printf '#!/bin/sh\nshift\nexec "$@"\n' > rsh; chmod +x rsh; rsync -r --rsh=./rsh a/ x:$PWD/c; diff -r a c; echo $?; rm -rf a b c
"""
XATTRS = """
seq 100 > a; setfattr -n user.colour -v green a; mkdir sparse; truncate -s 1M sparse/hole; echo end >> sparse/hole; ln a hard; ln -s a soft
tar --xattrs -cSf all.tar a hard soft sparse; mkdir out; tar --xattrs -xf all.tar -C out; getfattr -d out/a; cmp sparse/hole out/sparse/hole; readlink out/soft; stat -c %h out/a; rm all.tar
"""
FLOCK = """
(flock 9; sleep 0.3; echo first) 9> lock & sleep 0.1; flock -n lock true; echo $?; flock lock echo second; wait
flock -w 0.1 -E 7 lock sh -c 'exit 3'; echo $?
"""
INOTIFY = """
mkdir watched; inotifywait -q -m -e create,close_write,delete --format '%e %f' watched > events & sleep 0.4
seq 10 | sort -r > watched/a; cp watched/a watched/b; rm watched/a; sleep 0.3; kill $!; wait; cat events
"""

ERRORS = """
import os, errno, socket
def fails(call, *arguments):
    try: print("no error", call(*arguments))
    except OSError as e: print(call.__name__, errno.errorcode[e.errno])
os.symlink("loop", "loop"); os.mkdir("d"); open("d/f", "w").close(); full = os.open("/dev/full", os.O_WRONLY); r, w = os.pipe(); os.close(r); n = os.open("d/f", os.O_RDONLY)
for call in os.open, os.stat, os.unlink, os.rmdir, os.listdir, os.readlink, os.chdir, os.truncate:
    for name in "missing", "loop", "d/f/g", "x" * 300, "y/" * 3000, "", "/proc/self/fd/999":
        fails(call, name, os.O_RDWR) if call in (os.open, os.truncate) else fails(call, name)
fails(os.open, "d", os.O_RDWR); fails(os.mkdir, "d"); fails(os.rmdir, "d"); fails(os.rename, "d", "d/e"); fails(os.link, "d", "e"); fails(os.open, "d/f", os.O_CREAT | os.O_EXCL)
fails(os.write, full, b"x"); fails(os.write, w, b"x"); fails(os.write, n, b"x"); fails(os.read, 999, 1); fails(os.close, 999); fails(os.dup, 999); fails(os.lseek, w, 0, 0); fails(os.pread, w, 1, 0)
os.set_blocking(w, False); fails(os.fsync, w); fails(os.ftruncate, n, 1); s = socket.socket(); s.setblocking(False); fails(s.recv, 1); fails(s.connect, ("127.0.0.1", 1)); fails(s.send, b"x")
"""
ERROR_CASE = f"""
cat missing; cat < missing; cat d/; cp missing there; rm missing; mkdir a/b; cd missing; ls missing; echo x > /dev/full; ./missing; head -1 /; perl -e 'open(F, "<", "missing") or print "$!\\n"'
printf '#include <stdio.h>\\n' | gcc -x c -E missing.c - > out; cat > e.py <<'X'\n{ERRORS}\nX
python3 -S -B e.py; as_user touch /etc/mine; as_user cat /etc/shadow; as_user rm /etc/passwd
"""

CASES = (
    Case("calls that fail", ERROR_CASE, status=1, shows="unlink ENOENT.*"),
    Case("close everything", "$PROGRAMS/harm_portable close_all"),
    Case("tar to tar", "cp -r /usr/include/asm-generic a; tar cf - a | (mkdir b; tar xf - -C b); diff -r a b/a; echo $?; rm -r a b"),
    Case("tar with attributes, holes, links", XATTRS, ("setfattr", "getfattr"), probe="touch a; setfattr -n user.x -v y a", shows='user.colour="green"'),
    Case("gzip to cmp", "seq 100000 > a; gzip -k a; gzip -dc a.gz | cmp - a; echo $?; rm a.gz", shows="0"),
    Case("parallel sort", "seq 200000 | shuf --random-source=/bin/sh | sort -n --parallel=4 -S 1M | md5sum"),
    Case("locks", FLOCK, ("flock",), shows="1\nfirst\nsecond\n3"),
    Case("watched files", INOTIFY, ("inotifywait",), shows="CLOSE_WRITE,CLOSE a\n"),
    Case("rsync", RSYNC, ("rsync",), shows="deleting"),
    Case("sqlite", SQLITE_CASE, ("sqlite3",), shows="ok"),
    Case("ssh-keygen", "ssh-keygen -q -t ed25519 -N '' -f key; stat -c '%a %n' key*; ssh-keygen -y -f key | cmp - <(cut -d' ' -f1,2 key.pub) | head -c 20; echo hi > m; ssh-keygen -q -Y sign -f key -n file m; head -1 m.sig; rm key* m.sig", ("ssh-keygen",), probe="id -un", shows="600 key"),
    Case("getent", "getent passwd root nobody; getent hosts localhost | tr -s ' '; getent services ssh; getent passwd nosuch; echo $?", shows="root:x:0"),
    Case("git", GIT, ("git",), shows="^[0-9a-f]{40}"),
    Case("compiler", f"{C_HELLO}; gcc -O2 -c hello.c -o hello.o; md5sum hello.o; gcc hello.o -o hello; ./hello; md5sum hello", ("gcc",), shows="hi"),
    Case("link-time optimisation", LTO, ("gcc",), shows="lto", only_default=SLOW),
    Case("make -j4", f"{MAKEFILE}; make -j4; echo $?; touch f3; make -j4; md5sum f*", ("make",)),
    Case("autoconf", AUTOCONF, ("autoconf", "make"), shows="checking for nope.h... no", only_default=SLOW),
    Case("cmake", f"{C_HELLO}; {CMAKE}", ("cmake", "make"), shows="hi", only_default=SLOW),
)  # fmt: skip
