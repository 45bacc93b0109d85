"""A real Slurm on one machine, without systemd: munge, MariaDB, slurmdbd, slurmctld and one slurmd with two declared GPUs.

    python tests/slurm/cluster.py start FOLDER     installs what is missing (Debian's packages, as root), starts, waits
    python tests/slurm/cluster.py stop FOLDER      stops what this folder started, and nothing else

All of it lives in FOLDER: configuration, keys, database, sockets, logs, process ids. `start` twice leaves a running cluster as
it is. One thing lies outside: the link /etc/slurm/slurm.conf. SLURM_CONF could name FOLDER's to a user's commands, but not
inside of a job, since Snakemake takes SLURM_* out of its environment. `stop` takes the link away.
"""

import argparse
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

PACKAGES = {
    "munged": "munge",
    "mariadbd": "mariadb-server",
    "slurmdbd": "slurmdbd",
    "slurmctld": "slurm-wlm",
    "slurmd": "slurm-wlm",
}
CONFIGURATION = Path("/etc/slurm/slurm.conf")
"""Where Slurm's commands look."""

WAIT = 60
"""Seconds that a daemon may take to answer."""

# `config_overrides` lets the node have what it says: rules ask for more cores and memory than a small machine has.
# Memory over the limit is seen by the sampling of JobAcctGather, every second, and ends the job.
SLURM_CONF = """\
ClusterName=candor
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={slurmctld_port}
SlurmdPort={slurmd_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=sched_interval=1,batch_sched_delay=0,sched_min_interval=0
GresTypes=gpu
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={slurmdbd_port}
AccountingStoragePass={folder}/munge.socket
AccountingStorageTRES=gres/gpu
AccountingStoreFlags=job_comment
JobRequeue=1
KillWait=5
MinJobAge=300
OverTimeLimit=0
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=32 RealMemory=262144 Gres=gpu:h100:2 State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
"""

# Slurm hands out GPUs by their device files; any two character devices stand in for those of real ones.
GRES_CONF = "NodeName={host} Name=gpu Type=h100 File=/dev/tty0,/dev/tty1\n"

CGROUP_CONF = "CgroupAutomount=no\n"

SLURMDBD_CONF = """\
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
DbdHost={host}
DbdAddr=127.0.0.1
DbdPort={slurmdbd_port}
SlurmUser={user}
LogFile={folder}/slurmdbd.log
PidFile={folder}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={mariadb_port}
StorageUser=slurm
StoragePass={password}
StorageLoc=slurm
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("start", "stop"))
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    folder = arguments.folder.absolute()
    (start if arguments.action == "start" else stop)(folder)


def start(folder: Path) -> None:
    """Start a cluster in a folder, unless it runs; what a start that was cut off left behind is stopped first."""
    if is_up(folder):
        print(f"the cluster in {folder} runs")
        return
    stop(folder)
    install()
    write_configuration(folder)
    link(folder)
    for daemon in (start_munged, start_mariadbd, start_slurmdbd, start_slurmctld, start_slurmd):
        daemon(folder)
    wait_for(lambda: "idle" in slurm(folder, "sinfo", "--noheader", "--format=%T").stdout, "the node", folder)
    print(f"a cluster runs in {folder}")


def stop(folder: Path) -> None:
    """Stop the daemons whose process ids the folder holds, the last started first."""
    for name in ("slurmd", "slurmctld", "slurmdbd", "mariadbd", "munged"):
        if (process := running(folder, name)) is None:
            continue
        os.kill(process, signal.SIGTERM)
        deadline = time.monotonic() + 15
        while running(folder, name) is not None:
            if time.monotonic() > deadline:
                os.kill(process, signal.SIGKILL)
            time.sleep(0.1)
        print(f"stopped {name} ({process})")
    if is_linked(folder):
        CONFIGURATION.unlink()


def is_linked(folder: Path) -> bool:
    """Tell whether Slurm's commands find a folder's cluster."""
    return CONFIGURATION.is_symlink() and CONFIGURATION.readlink() == folder / "slurm.conf"


def link(folder: Path) -> None:
    """Let Slurm's commands find a folder's cluster; another one's configuration is left alone."""
    if CONFIGURATION.is_symlink() and not CONFIGURATION.exists():
        CONFIGURATION.unlink()  # of a folder that is gone
    if CONFIGURATION.exists():
        sys.exit(f"{CONFIGURATION} is another cluster's ({CONFIGURATION.resolve()}); this machine has one already")
    CONFIGURATION.parent.mkdir(parents=True, exist_ok=True)
    CONFIGURATION.symlink_to(folder / "slurm.conf")


def is_up(folder: Path) -> bool:
    """Tell whether all daemons of a folder run and the node takes jobs."""
    if not is_linked(folder) or any(running(folder, name) is None for name in PACKAGES):
        return False
    states = slurm(folder, "sinfo", "--noheader", "--format=%T").stdout.split()
    return bool(states) and states[0].rstrip("*") in ("idle", "mixed", "allocated", "completing")


def running(folder: Path, name: str) -> int | None:
    """Return the process id of one of the folder's daemons, None where it does not run.

    An id can be another process's by now: it counts only where the command is the daemon's and names the folder or, with
    Slurm's daemons, was started from there.
    """
    try:
        process = int((folder / f"{name}.pid").read_text())
        command = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
        environment = Path(f"/proc/{process}/environ").read_bytes()
    except (OSError, ValueError):
        return None
    if Path(os.fsdecode(command[0])).name != name or os.fsencode(folder) not in b"\0".join(command) + environment:
        return None
    return process


def install() -> None:
    """Install Debian's packages where a daemon is missing."""
    missing = sorted({package for daemon, package in PACKAGES.items() if not find(daemon)})
    if not missing:
        return
    if os.geteuid() != 0:
        sys.exit(f"missing: {', '.join(missing)}; install them (apt-get install, as root)")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    # Their own services must not start: these daemons are started here, in a folder.
    policy = Path("/usr/sbin/policy-rc.d")
    written = not policy.exists()
    if written:
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
    try:
        subprocess.run(["apt-get", "update"], check=True, env=environment, stdout=subprocess.DEVNULL)
        subprocess.run(
            ["apt-get", "install", "--yes", "--no-install-recommends", *missing],
            check=True,
            env=environment,
            stdout=subprocess.DEVNULL,
        )
    finally:
        if written:
            policy.unlink()


def find(program: str) -> str | None:
    """Find a program, also where only root's PATH leads."""
    return shutil.which(program, path=os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin")))


def user() -> str:
    """Return who runs this, as whom the daemons run too."""
    return pwd.getpwuid(os.geteuid()).pw_name


def write_configuration(folder: Path) -> None:
    """Write a folder's configuration anew, with free ports; keep its database."""
    for name in ("state", "spool", "database"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)  # munged wants nobody else to write where its socket is
    ports = free_ports(4)
    password = folder / "database.password"
    if not password.exists():
        write_secret(password, secrets.token_hex(16))
    values = {
        "folder": folder,
        "host": socket.gethostname().split(".")[0],
        "user": user(),
        "password": password.read_text(),
        **dict(zip(("slurmctld_port", "slurmd_port", "slurmdbd_port", "mariadb_port"), ports, strict=True)),
    }
    (folder / "mariadb.port").write_text(str(values["mariadb_port"]))
    (folder / "slurm.conf").write_text(SLURM_CONF.format(**values))
    (folder / "gres.conf").write_text(GRES_CONF.format(**values))
    (folder / "cgroup.conf").write_text(CGROUP_CONF)
    write_secret(folder / "slurmdbd.conf", SLURMDBD_CONF.format(**values))


def write_secret(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
        stream.write(text)


def free_ports(count: int) -> list[int]:
    """Find ports that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def start_munged(folder: Path) -> None:
    key = folder / "munge.key"
    if not key.exists():
        write_secret(key, secrets.token_hex(64))
    launch(
        folder,
        "munged",
        "--foreground",
        "--force",
        f"--key-file={key}",
        f"--socket={folder}/munge.socket",
        f"--pid-file={folder}/munged.own.pid",
        f"--seed-file={folder}/munge.seed",
        f"--log-file={folder}/munged.log",
    )
    wait_for(
        lambda: subprocess.run(["munge", "-n", f"--socket={folder}/munge.socket"], capture_output=True).returncode == 0,
        "munged",
        folder,
    )


def start_mariadbd(folder: Path) -> None:
    database = folder / "database"
    if not (database / "mysql").exists():
        subprocess.run(
            [
                "mariadb-install-db",
                "--no-defaults",
                f"--datadir={database}",
                f"--user={user()}",
                "--auth-root-authentication-method=socket",
                f"--auth-root-socket-user={user()}",
                "--skip-test-db",
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    launch(
        folder,
        "mariadbd",
        "--no-defaults",
        f"--datadir={database}",
        f"--socket={folder}/mariadb.socket",
        f"--pid-file={folder}/mariadbd.own.pid",
        "--bind-address=127.0.0.1",
        f"--port={(folder / 'mariadb.port').read_text()}",
        f"--user={user()}",
    )
    grant = (
        "CREATE DATABASE IF NOT EXISTS slurm; "
        f"CREATE USER IF NOT EXISTS slurm@'127.0.0.1' IDENTIFIED BY '{(folder / 'database.password').read_text()}'; "
        f"CREATE USER IF NOT EXISTS slurm@localhost IDENTIFIED BY '{(folder / 'database.password').read_text()}'; "
        "GRANT ALL ON slurm.* TO slurm@'127.0.0.1'; GRANT ALL ON slurm.* TO slurm@localhost;"
    )
    client = ["mariadb", "--no-defaults", f"--socket={folder}/mariadb.socket", f"--user={user()}"]
    wait_for(
        lambda: subprocess.run(client, input=grant, capture_output=True, text=True).returncode == 0, "mariadbd", folder
    )


def start_slurmdbd(folder: Path) -> None:
    launch(folder, "slurmdbd", "-D")
    wait_for(lambda: slurm(folder, "sacctmgr", "--noheader", "show", "cluster").returncode == 0, "slurmdbd", folder)
    slurm(folder, "sacctmgr", "--immediate", "add", "cluster", "candor")
    slurm(folder, "sacctmgr", "--immediate", "add", "account", "candor")
    slurm(folder, "sacctmgr", "--immediate", "add", "user", user(), "account=candor")


def start_slurmctld(folder: Path) -> None:
    launch(folder, "slurmctld", "-D", "-i")
    wait_for(lambda: "UP" in slurm(folder, "scontrol", "ping").stdout, "slurmctld", folder)


def start_slurmd(folder: Path) -> None:
    launch(folder, "slurmd", "-D")


def launch(folder: Path, name: str, *arguments: str) -> None:
    """Start a daemon in the foreground of a session of its own, and note its process id."""
    with (folder / f"{name}.out").open("ab") as output:
        process = subprocess.Popen(
            [find(name), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            env={**os.environ, "SLURM_CONF": f"{folder}/slurm.conf"},
        )
    (folder / f"{name}.pid").write_text(str(process.pid))


def slurm(folder: Path, *command: str) -> subprocess.CompletedProcess:
    """Run one of Slurm's commands against the folder's cluster."""
    environment = {**os.environ, "SLURM_CONF": f"{folder}/slurm.conf"}
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def wait_for(ready: Callable[[], bool], what: str, folder: Path) -> None:
    deadline = time.monotonic() + WAIT
    while not ready():
        if time.monotonic() > deadline:
            stop(folder)
            sys.exit(f"{what} does not answer after {WAIT} s; see the logs in {folder}")
        time.sleep(0.2)


if __name__ == "__main__":
    main()
