"""Measures a tool's work in its own process, and prints it in the words that the benchmark reads."""

import json
import os
import resource
import sys
import time


def measured(work):
    """Runs `work` with the task given on the command line, and prints one line of JSON. It returns the customers read."""
    task = json.loads(sys.argv[1])
    started, cpu, written = time.perf_counter(), cpu_seconds(), written_bytes()
    customers = work(task)
    print(
        "\n"
        + json.dumps(
            {
                "wallMs": (time.perf_counter() - started) * 1000,
                "cpuMs": (cpu_seconds() - cpu) * 1000,
                "peakRssBytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
                "writtenBytes": written_bytes() - written,
                "fileBytes": folder_bytes(task["file"]),
                "customers": customers,
            }
        )
    )


def cpu_seconds():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def written_bytes():
    with open("/proc/self/io", encoding="ascii") as counts:
        return next(int(line.split()[1]) for line in counts if line.startswith("write_bytes"))


def folder_bytes(folder):
    return sum(os.path.getsize(os.path.join(path, name)) for path, _, names in os.walk(folder) for name in names)
