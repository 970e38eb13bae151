//! The handful of Debian's programs that an image has.

/// Packages of the root: the tools of ext4, what sets up the checked root, one program for all
/// small things, certificates, and the libraries they need.
pub(crate) const PACKAGES: [&str; 14] = [
    "busybox-static",
    "ca-certificates",
    "dmsetup",
    "e2fsprogs",
    "libblkid1",
    "libcap2",
    "libc6",
    "libcom-err2",
    "libdevmapper1.02.1",
    "libext2fs2t64",
    "libpcre2-8-0",
    "libselinux1",
    "libudev1",
    "libuuid1",
];

/// Programs, and their names in the image.
pub(crate) const PROGRAMS: [(&str, &str); 4] = [
    ("usr/bin/busybox", "bin/busybox"),
    ("usr/sbin/mke2fs", "sbin/mke2fs"),
    ("usr/sbin/e2fsck", "sbin/e2fsck"),
    ("usr/sbin/dmsetup", "sbin/dmsetup"),
];

/// Libraries that it takes to set up the checked root, before there is one.
pub(crate) const EARLY_LIBRARIES: [&str; 7] = [
    "libc.so.6",
    "libcap.so.2",
    "libdevmapper.so.1.02.1",
    "libm.so.6",
    "libpcre2-8.so.0",
    "libselinux.so.1",
    "libudev.so.1",
];

/// What the root has besides.
pub(crate) const LIBRARIES: [&str; 5] = [
    "libblkid.so.1",
    "libcom_err.so.2",
    "libe2p.so.2",
    "libext2fs.so.2",
    "libuuid.so.1",
];

/// Where programs look for what loads their libraries: architecture, folder of the package's
/// libraries, path in the image.
pub(crate) const LOADERS: [(&str, &str, &str); 2] = [
    ("arm64", "aarch64-linux-gnu", "lib/ld-linux-aarch64.so.1"),
    ("amd64", "x86_64-linux-gnu", "lib64/ld-linux-x86-64.so.2"),
];
