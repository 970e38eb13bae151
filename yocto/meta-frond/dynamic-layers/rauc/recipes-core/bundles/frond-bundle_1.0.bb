SUMMARY = "The bundle that brings running boxes to frond-image"
DESCRIPTION = "Signed with the product's own RAUC_KEY_FILE and RAUC_CERT_FILE"
HOMEPAGE = "https://nats.io"
SECTION = "base"
LICENSE = "Apache-2.0"

SRC_URI = ""

inherit bundle

CVE_PRODUCT = ""

RAUC_BUNDLE_COMPATIBLE = "frond-${MACHINE}"
RAUC_BUNDLE_FORMAT = "verity"
RAUC_BUNDLE_SLOTS = "rootfs"
RAUC_SLOT_rootfs = "frond-image"
RAUC_SLOT_rootfs[fstype] = "ext4"
