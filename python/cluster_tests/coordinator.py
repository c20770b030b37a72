"""A coordinator of its own, to be killed: python coordinator.py CONFIG FOLDER EXECUTOR LIMIT.

EXECUTOR: `processes`, `ray`, or the address of a Dask scheduler. LIMIT: the largest file that it
may write, as on a disk that is full; 0 for none.
"""

import resource
import sys
from concurrent.futures import ProcessPoolExecutor

import sharpen


def main(config: str, folder: str, executor: str, limit: str) -> None:
    who = executor
    if executor == "processes":
        who = ProcessPoolExecutor(2)
    elif executor != "ray":
        from distributed import Client

        who = Client(executor)
    if int(limit):
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
    sharpen.study(config=config, out=folder, executor=who, progress=False, task_timeout=600)


if __name__ == "__main__":
    main(*sys.argv[1:])
