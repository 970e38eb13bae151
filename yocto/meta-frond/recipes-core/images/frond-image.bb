SUMMARY = "A box that runs Frond and nothing else"
DESCRIPTION = "Read-only root in two slots, state and data apart; no login in it"
HOMEPAGE = "https://nats.io"
SECTION = "base"
LICENSE = "Apache-2.0"

IMAGE_INSTALL = "\
    packagegroup-core-boot \
    ca-certificates \
    frond \
    frond-conf \
    kernel-modules \
"
IMAGE_INSTALL:append = "${@bb.utils.contains('BBFILE_COLLECTIONS', 'rauc', ' rauc', '', d)}"
IMAGE_LINGUAS = ""
IMAGE_FEATURES += "read-only-rootfs"
IMAGE_FSTYPES = "wic.xz wic.bmap ext4"
IMAGE_ROOTFS_EXTRA_SPACE = "0"

CVE_PRODUCT = ""

WKS_FILE ?= "${FROND_WKS}"

inherit core-image

# Logs are in memory and bounded; what is kept is on the data partition.
ROOTFS_POSTPROCESS_COMMAND += "frond_appliance"

frond_appliance[doc] = "Bounds logs, arms the watchdog, leaves no login"
frond_appliance() {
    install -d ${IMAGE_ROOTFS}${sysconfdir}/systemd/journald.conf.d
    printf '[Journal]\nStorage=volatile\nRuntimeMaxUse=8M\n' \
        > ${IMAGE_ROOTFS}${sysconfdir}/systemd/journald.conf.d/frond.conf
    install -d ${IMAGE_ROOTFS}${sysconfdir}/systemd/system.conf.d
    printf '[Manager]\nRuntimeWatchdogSec=10s\nRebootWatchdogSec=1min\n' \
        > ${IMAGE_ROOTFS}${sysconfdir}/systemd/system.conf.d/frond.conf
    for unit in getty@tty1.service serial-getty@.service getty.target; do
        ln -sf /dev/null ${IMAGE_ROOTFS}${sysconfdir}/systemd/system/$unit
    done
}
