FILESEXTRAPATHS:prepend:frond-os := "${THISDIR}/files:"

# The keyring is the product's own: a file ca.cert.pem in an append of yours.
do_install:prepend:frond-os() {
    sed -i -e 's:@COMPATIBLE@:frond-${MACHINE}:' ${UNPACKDIR}/system.conf
}
