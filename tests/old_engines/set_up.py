"""Makes the environment that the Python engine of the tests runs in: set_up.py FOLDER

Done in a moment where it is there already. Without network or without `venv` it says so and ends
well: the tests that need it are then skipped.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import venv

HERE = pathlib.Path(__file__).parent
WANTED = HERE / "requirements.txt"


def main():
    folder = pathlib.Path(sys.argv[1])
    # Written last: what is here is whole.
    installed = folder / WANTED.name
    if installed.is_file() and installed.read_bytes() == WANTED.read_bytes():
        print(f"{folder} is up to date")
        return
    try:
        venv.create(folder, clear=True, with_pip=True)
        program = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        pip = [program, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--only-binary", ":all:", "-r", WANTED], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        print(f"skipped: old engines in Python cannot be set up here: {error}")
        return
    shutil.copyfile(WANTED, installed)
    print(f"{folder} is ready")


if __name__ == "__main__":
    main()
