SUMMARY = "Configuration of a box that nobody has given one"
DESCRIPTION = "Apart from the program, so that products append their own configuration and share the binary"
HOMEPAGE = "https://nats.io"
SECTION = "net"
LICENSE = "Apache-2.0"
LIC_FILES_CHKSUM = "file://${COMMON_LICENSE_DIR}/Apache-2.0;md5=89aea4e17d99a7cacdbeed46a0096b10"

SRC_URI = "file://frond.conf"

S = "${UNPACKDIR}"

inherit allarch

CVE_PRODUCT = ""

do_configure[noexec] = "1"
do_compile[noexec] = "1"

do_install() {
    install -d ${D}${sysconfdir}/frond
    install -m 0644 ${UNPACKDIR}/frond.conf ${D}${sysconfdir}/frond/frond.conf
}

CONFFILES:${PN} = "${sysconfdir}/frond/frond.conf"
