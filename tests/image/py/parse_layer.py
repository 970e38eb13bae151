"""Parses a layer with bitbake's own parser: parse_layer.py LAYER CRATES_MIN

Classes of other layers are stood in for by empty ones; those are named, so that a misspelt one is
noticed. What is checked is what the parser checks, and what this layer's recipes say once all of
it is put together."""

import glob
import os
import re
import sys
import tempfile
import types

# The package of bitbake's parser leaves out its servers.
for name in ("hashserv", "hashserv.client", "prserv", "prserv.serv"):
    sys.modules.setdefault(name, types.ModuleType(name))

import bb
import bb.data
import bb.data_smart
import bb.parse
import bb.siggen
import bb.utils

ELSEWHERE = {
    "allarch", "base", "bundle", "cargo", "cargo-update-recipe-crates", "core-image", "deploy",
    "nopackages", "systemd", "useradd",
}
# Recipes of other layers that are appended to.
APPENDED = {"rauc-conf": """SUMMARY = "RAUC"
DESCRIPTION = "RAUC"
LICENSE = "MIT"
do_install() {
    install -d ${D}${nonarch_libdir}/rauc
}
"""}


def stubs(folder):
    classes = os.path.join(folder, "classes")
    os.mkdir(classes)
    for name in ELSEWHERE:
        open(os.path.join(classes, name + ".bbclass"), "w").close()
    return folder


def layer_data(layer, stand_in):
    data = bb.data.init()
    data.setVar("BBPATH", stand_in)
    data.setVar("TOPDIR", stand_in)
    data.setVar("LAYERDIR", layer)
    data.setVar("BBFILE_COLLECTIONS", "rauc raspberrypi")
    data = bb.parse.handle(os.path.join(layer, "conf/layer.conf"), data, True)
    data.setVar("COMMON_LICENSE_DIR", "/licenses")
    data.setVar("MACHINE", "qemuarm64")
    data.setVar("BB_SIGNATURE_HANDLER", "noop")
    bb.parse.siggen = bb.siggen.init(data)
    return data


def recipe(data, path):
    copy = bb.data.createCopy(data)
    copy.setVar("FILE", path)
    copy.setVar("__bbclasstype", "recipe")
    base = os.path.basename(path)[: -len(".bb")]
    name, _, version = base.partition("_")
    copy.setVar("BPN", name)
    copy.setVar("PN", name)
    copy.setVar("PV", version or "1.0")
    found = bb.parse.handle(path, copy)
    return name, found[""]


def complaints(name, data):
    for need in ("SUMMARY", "DESCRIPTION", "LICENSE"):
        if not data.getVar(need):
            yield f"{name} has no {need}"
    here = os.path.dirname(data.getVar("FILE"))
    for uri in (data.getVar("SRC_URI") or "").split():
        if not uri.startswith("file://"):
            continue
        wanted = uri[len("file://"):].split(";")[0]
        places = [os.path.join(here, folder, wanted) for folder in ("files", name)]
        if not any(os.path.exists(place) for place in places):
            yield f"{name}: {wanted} is not there"


def main():
    layer, crates_min = os.path.realpath(sys.argv[1]), int(sys.argv[2])
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        data = layer_data(layer, stubs(folder))
        if data.getVar("LAYERSERIES_COMPAT_frond") != "wrynose":
            wrong.append("the layer is not for wrynose")
        patterns = (data.getVar("BBFILES") or "").split()
        patterns += [it.split(":", 1)[1] for it in (data.getVar("BBFILES_DYNAMIC") or "").split()]
        paths = sorted({path for pattern in patterns for path in glob.glob(pattern)})
        listed = glob.glob(os.path.join(layer, "**/*.bb*"), recursive=True)
        wrong += [f"{path} is matched by no pattern" for path in set(listed) - set(paths)]
        for path in paths:
            if path.endswith(".bbappend"):
                base = re.sub(r"[_%].*|\.bbappend$", "", os.path.basename(path))
                stand_in = os.path.join(folder, base + "_1.0.bb")
                with open(stand_in, "w") as file:
                    file.write(APPENDED[base])
                data.setVar("__BBAPPEND", path)
                wrong += complaints(base, recipe(data, stand_in)[1])
                data.delVar("__BBAPPEND")
                print("parsed", os.path.relpath(path, layer))
                continue
            name, found = recipe(data, path)
            wrong += complaints(name, found)
            if name in ("frond", "frond-hub"):
                crates = [it for it in found.getVar("SRC_URI").split() if it.startswith("crate://")]
                sums = [it for it in crates if not found.getVarFlag(
                    "SRC_URI", "{}-{}.sha256sum".format(*it.split("/")[3:5]))]
                if len(crates) < crates_min or sums:
                    wrong.append(f"{name}: {len(crates)} crates, without sums {sums}")
            print("parsed", os.path.relpath(path, layer))
    for text in wrong:
        print("error:", text)
    sys.exit(bool(wrong))


main()
