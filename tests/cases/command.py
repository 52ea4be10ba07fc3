"""The command that is tested: the program that the first argument of a script names."""

import csv
import os
import subprocess
import sys

program = os.path.abspath(sys.argv[1])


def run(*words):
    return subprocess.run([program, "--engine", "cpu", *words], capture_output=True, text=True, timeout=200)


def rows(path):
    try:
        with open(path, newline="") as file:
            return list(csv.DictReader(file))
    except OSError:
        return []
