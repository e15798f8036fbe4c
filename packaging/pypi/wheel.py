#!/usr/bin/env python3
"""Makes a wheel of an archive of a release: wheel.py ARCHIVE DIRECTORY. `pip install` puts its binary on the PATH."""

import base64
import hashlib
import pathlib
import re
import sys
import tarfile
import zipfile

# On which systems the binaries run: the static ones for Linux with any C library.
PLATFORMS = {
    "x86_64-unknown-linux-musl": ["manylinux2014_x86_64", "musllinux_1_1_x86_64"],
    "aarch64-unknown-linux-musl": ["manylinux2014_aarch64", "musllinux_1_1_aarch64"],
    "x86_64-apple-darwin": ["macosx_10_12_x86_64"],
    "aarch64-apple-darwin": ["macosx_11_0_arm64"],
}
ROOT = pathlib.Path(__file__).resolve().parents[2]


def main(archive, directory):
    target = archive.name.removeprefix("ralph-").removesuffix(".tar.gz")
    manifest = (ROOT / "Cargo.toml").read_text()
    version = re.search(r'^version = "(.+)"', manifest, re.M)[1]
    summary = re.search(r'^description = "(.+)"', manifest, re.M)[1]
    tags = [f"py3-none-{platform}" for platform in PLATFORMS[target]]
    info = f"ralph_loop-{version}.dist-info"
    with tarfile.open(archive) as packed:
        part = lambda name: packed.extractfile(f"ralph-{target}/{name}").read()
        licences = ["LICENSE-APACHE", "LICENSE-MIT"]
        files = {
            f"ralph_loop-{version}.data/scripts/ralph": part("ralph"),
            **{f"{info}/licenses/{name}": part(name) for name in licences},
            f"{info}/METADATA": "".join(
                [
                    f"Metadata-Version: 2.4\nName: ralph-loop\nVersion: {version}\nSummary: {summary}\n",
                    "License-Expression: MIT OR Apache-2.0\n",
                    *[f"License-File: {name}\n" for name in licences],
                    "Requires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n",
                    part("README.md").decode(),
                ]
            ).encode(),
            f"{info}/WHEEL": "".join(
                ["Wheel-Version: 1.0\nGenerator: wheel.py\nRoot-Is-Purelib: false\n", *[f"Tag: {tag}\n" for tag in tags]]
            ).encode(),
        }
    record = f"{info}/RECORD"
    rows = []
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={digest},{len(data)}\n")
    files[record] = "".join([*rows, f"{record},,\n"]).encode()

    directory.mkdir(parents=True, exist_ok=True)
    platforms = ".".join(PLATFORMS[target])
    with zipfile.ZipFile(directory / f"ralph_loop-{version}-py3-none-{platforms}.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in files.items():
            # Without a date, it has the first one that the format has: the same archive makes the same wheel.
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o100755 if name.endswith("/scripts/ralph") else 0o100644) << 16
            wheel.writestr(entry, data, zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: wheel.py ARCHIVE DIRECTORY")
    main(*map(pathlib.Path, sys.argv[1:]))
