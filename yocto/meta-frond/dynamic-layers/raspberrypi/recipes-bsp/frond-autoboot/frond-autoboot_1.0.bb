SUMMARY = "The Raspberry Pi's choice between two boot partitions"
DESCRIPTION = "autoboot.txt names the confirmed one, and the other for one start (tryboot)"
HOMEPAGE = "https://nats.io"
SECTION = "bootloaders"
LICENSE = "Apache-2.0"
LIC_FILES_CHKSUM = "file://${COMMON_LICENSE_DIR}/Apache-2.0;md5=89aea4e17d99a7cacdbeed46a0096b10"

SRC_URI = "file://autoboot.txt"

S = "${UNPACKDIR}"

inherit deploy nopackages

COMPATIBLE_MACHINE = "^rpi$"
CVE_PRODUCT = ""

do_configure[noexec] = "1"
do_compile[noexec] = "1"

do_deploy() {
    install -m 0644 ${UNPACKDIR}/autoboot.txt ${DEPLOYDIR}/autoboot.txt
}

addtask deploy before do_build after do_install
