//! What a loader finds on the disk of each board's image, without starting it.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test reads files and fails by panicking"
)]

use std::collections::BTreeMap;

use frond_slot::limits::SECTOR_BYTES;
use frond_slot::{BootState, Gpt, Manifest, open};
use image::{Layout, Release, Shelf, Tree};
use imager::Built;

const ORDER: [&str; 8] = [
    "select",
    "boot_a",
    "boot_b",
    "bootstate",
    "root_a",
    "root_b",
    "state",
    "data",
];
const SECTORS_PER_MIB: u64 = 1024 * 1024 / SECTOR_BYTES as u64;
/// A disk has to hold it: the smallest cards that are sold.
const IMAGE_BYTES_MAX: u64 = 1024 * 1024 * 1024;

fn built(board: &str) -> (Shelf, Built, Layout) {
    let shelf = Shelf::hollow(board);
    let built = shelf.release(1, Release::Good);
    let layout = Layout::of(&built.image);
    (shelf, built, layout)
}

/// Numbers are what loaders know partitions by, names what the box knows them by.
fn the_table_is_the_one_of_all_images(built: &Built, layout: &Layout) {
    let names: Vec<&str> = layout
        .table
        .partitions
        .iter()
        .map(|it| it.name.trim_start_matches("frond_"))
        .collect();
    assert_eq!(names, ORDER);
    let bytes = built.image.metadata().unwrap().len();
    assert!(bytes < IMAGE_BYTES_MAX, "{bytes} bytes");
    let mut places: Vec<(u64, u64)> = layout
        .table
        .partitions
        .iter()
        .map(|it| (it.start, it.start + it.sectors))
        .collect();
    assert!(places.iter().all(|(start, _)| start % SECTORS_PER_MIB == 0));
    places.sort_unstable();
    assert!(places.windows(2).all(|two| two[0].1 <= two[1].0));
    let sectors = bytes / SECTOR_BYTES as u64;
    let end = places.last().unwrap().1;
    assert!(end + Gpt::tail_sectors() <= sectors, "{end} of {sectors}");
    // A card whose first sectors went bad is still known by the copy at its end.
    let mut disk = std::fs::read(&built.image).unwrap();
    disk[..2 * SECTOR_BYTES].fill(0xff);
    let copy = Gpt::read(&mut std::io::Cursor::new(disk)).unwrap();
    assert_eq!(copy, layout.table);
}

/// Slot A is filled and confirmed, B is empty, and an update brings what A has.
fn the_first_slot_is_filled(built: &Built, layout: &Layout) {
    let mut state = std::io::Cursor::new(layout.content("bootstate"));
    let state = BootState::read(&mut state).unwrap().unwrap();
    assert_eq!(state, BootState::default());
    for name in ["boot_b", "root_b", "state", "data"] {
        assert!(layout.content(name).iter().all(|byte| *byte == 0), "{name}");
    }
    assert!(layout.content("root_a").starts_with(b"hsqs"));
    let mut bundle = std::fs::File::open(&built.bundle).unwrap();
    let opened = open(&mut bundle).unwrap();
    let manifest: Manifest = serde_json::from_slice(&opened.signed.body).unwrap();
    let names: Vec<&str> = manifest.parts.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["boot", "root"]);
    for part in &manifest.parts {
        let content = layout.content(&format!("{}_a", part.name));
        let (pieces, rest) = content.split_at(usize::try_from(part.bytes).unwrap());
        assert!(rest.iter().all(|byte| *byte == 0), "{}", part.name);
        let hashes = pieces.chunks(frond_slot::limits::PIECE_BYTES);
        assert!(hashes.map(sha256).eq(part.pieces.iter().cloned()));
    }
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    data_encoding::HEXLOWER.encode(&sha2::Sha256::digest(bytes))
}

/// `config.txt`'s lines: what is set to what.
fn settings(text: &str) -> BTreeMap<&str, &str> {
    let lines = text.lines().filter(|line| !line.starts_with('['));
    let pairs = lines.filter_map(|line| line.split_once(['=', ' ']));
    pairs.collect()
}

/// As the firmware of the boards goes: `config.txt` of the first partition, then what that names.
fn the_firmware_finds_its_way(shelf: &Shelf, layout: &Layout) {
    assert_eq!(layout.partition("select").0, 1);
    let config = layout.text("select", "config.txt");
    let config = settings(&config);
    assert_eq!(config["arm_64bit"], "1");
    // The firmware's own names of device trees are the kernel's only where it is told so.
    assert_eq!(config["upstream_kernel"], "1");
    // A kernel that hangs before the first process is up ends by itself.
    assert!(config["kernel_watchdog_timeout"].parse::<u32>().unwrap() > 0);
    assert_eq!(config["kernel"], "u-boot.bin");
    assert!(!layout.file("select", "u-boot.bin").is_empty());
    assert!(!shelf.profile.device_trees.is_empty());
    for tree in &shelf.profile.device_trees {
        let name = tree.rsplit('/').next().unwrap();
        let tree = layout.file("select", name);
        assert!(tree.starts_with(&[0xd0, 0x0d, 0xfe, 0xed]), "{name}");
    }
    // U-Boot's own settings: CRC-32, then names and values.
    let settings = layout.file("select", "uboot.env");
    let (sum, settings) = settings.split_first_chunk().unwrap();
    assert_eq!(u32::from_le_bytes(*sum), crc32fast::hash(settings));
    let lines: Vec<&[u8]> = settings.split(|byte| *byte == 0).collect();
    // Whatever comes in on the serial line, it does not stop.
    assert!(lines.contains(&b"bootdelay=-2".as_slice()));
    u_boot_finds_its_way(shelf, layout, "mmc");
    // The plain form: this loader unpacks no other.
    let kernel = layout.file("boot_a", "Image");
    assert_eq!(kernel.get(56..60), Some(b"ARM\x64".as_slice()));
}

/// As the script goes: the boot state, then a boot partition by its number.
fn u_boot_finds_its_way(shelf: &Shelf, layout: &Layout, disk: &str) {
    assert_eq!(layout.partition("boot_a").0, 2);
    assert_eq!(layout.partition("boot_b").0, 3);
    assert_eq!(layout.partition("bootstate").1.start, 0x800);
    let script = layout.file("select", "boot.scr");
    assert!(script.starts_with(&[0x27, 0x05, 0x19, 0x56]));
    // Before it are a header and the script's length.
    let text = String::from_utf8_lossy(script.get(72..).unwrap_or_default());
    assert!(
        !text
            .lines()
            .any(|line| !line.starts_with('#') && line.contains('@'))
    );
    assert!(text.contains(&format!("{disk} read ${{state}} 0x800 1")));
    assert!(layout.file("boot_a", "initrd").starts_with(&[0x1f, 0x8b]));
    let line = layout.text("boot_a", "slot.env");
    let wanted = format!("args={}", shelf.profile.command_line);
    assert!(
        line.starts_with(&wanted) && line.lines().count() == 1,
        "{line}"
    );
    // The slot is the loader's to say, and the root the initial file system's to check.
    assert!(
        line.contains("console=") && line.contains("panic="),
        "{line}"
    );
    assert!(
        !line.contains("frond.slot") && !line.contains("root="),
        "{line}"
    );
}

/// A PC's kernel unpacks itself to where it likes best, and its header says how much room that
/// takes: what else was loaded there is gone.
fn the_kernel_unpacks_beside_the_initial_file_system(layout: &Layout) {
    let kernel = layout.file("boot_a", "Image");
    let liked = u64::from_le_bytes(kernel[0x258..0x260].try_into().unwrap());
    let room = u32::from_le_bytes(kernel[0x260..0x264].try_into().unwrap());
    let script = layout.file("select", "boot.scr");
    let text = String::from_utf8_lossy(script.get(72..).unwrap_or_default());
    let line = text.lines().find(|line| line.ends_with(" initrd")).unwrap();
    let place = line.split(' ').nth_back(1).unwrap();
    let place = u64::from_str_radix(place.trim_start_matches("0x"), 16);
    // An address of ours: U-Boot's own is for smaller kernels.
    let place = place.unwrap();
    assert!(place >= liked + u64::from(room), "{place:#x}");
    assert!(text.contains(&format!(" {place:#x} ${{filesize}}\n")));
}

/// What has no module: it is in every kernel for these boards, or, as the chip behind PCI, told by
/// other names.
const BUILT_IN: [&str; 10] = [
    "simple-bus",
    "fixed-clock",
    "arm,gic-400",
    "brcm,bcm2711-cprman",
    "brcm,bcm2835-mbox",
    "raspberrypi,bcm2835-firmware",
    "raspberrypi,firmware-gpio",
    "brcm,bcm7216-pcie-sata-rescal",
    "brcm,bcm2712-pcie",
    "pci1de4,1",
];

/// Everything between the processor and a device has its driver among these modules: a card whose
/// supply has none is a card that is not there, and no emulator shows that.
fn drivers_are_there(tree: &Tree, device: &str, modules: &[u8]) {
    let aliases: Vec<&[u8]> = modules.split(|byte| *byte == 0).collect();
    let chain = tree.chain(device);
    assert!(!chain.is_empty(), "no {device}");
    for names in chain {
        let is_built_in = names.iter().any(|it| BUILT_IN.contains(&it.as_str()));
        let is_driven = names.iter().any(|name| {
            let alias = format!("alias=of:N*T*C{name}");
            aliases.contains(&alias.as_bytes())
        });
        assert!(
            is_built_in || is_driven,
            "{device}: nothing drives {names:?}"
        );
    }
}

fn card_and_wire_are_driven(layout: &Layout, tree: &str, card: &str, wire: &str) {
    let tree = Tree::of(&layout.file("select", tree));
    drivers_are_there(&tree, card, &layout.initial());
    drivers_are_there(&tree, wire, &layout.modules());
}

#[test]
fn a_raspberry_pi_4_finds_everything() {
    let (shelf, built, layout) = built("rpi4");
    the_table_is_the_one_of_all_images(&built, &layout);
    the_first_slot_is_filled(&built, &layout);
    the_firmware_finds_its_way(&shelf, &layout);
    // Its second stage is on the card, and only in these files.
    assert!(layout.file("select", "start4.elf").starts_with(b"\x7fELF"));
    assert!(!layout.file("select", "fixup4.dat").is_empty());
    card_and_wire_are_driven(
        &layout,
        "bcm2711-rpi-4-b.dtb",
        "brcm,bcm2711-emmc2",
        "brcm,bcm2711-genet-v5",
    );
}

#[test]
fn a_raspberry_pi_5_finds_everything() {
    let (shelf, built, layout) = built("rpi5");
    the_table_is_the_one_of_all_images(&built, &layout);
    the_first_slot_is_filled(&built, &layout);
    the_firmware_finds_its_way(&shelf, &layout);
    // What the Raspberry Pi 4 has on its card, this one has in its EEPROM.
    let names = layout.names("select");
    assert!(
        !names.iter().any(|name| name.ends_with(".elf")),
        "{names:?}"
    );
}

#[test]
fn u_boot_finds_everything() {
    for (board, kernel_at, kernel_magic) in [
        ("qemu-aarch64", 56, b"ARM\x64".as_slice()),
        ("qemu-x86_64", 0x202, b"HdrS".as_slice()),
    ] {
        let (shelf, built, layout) = built(board);
        the_table_is_the_one_of_all_images(&built, &layout);
        the_first_slot_is_filled(&built, &layout);
        assert_eq!(layout.names("select"), ["boot.scr"]);
        u_boot_finds_its_way(&shelf, &layout, "virtio");
        let kernel = layout.file("boot_a", "Image");
        let end = kernel_at + kernel_magic.len();
        assert_eq!(kernel.get(kernel_at..end), Some(kernel_magic), "{board}");
        if board == "qemu-x86_64" {
            the_kernel_unpacks_beside_the_initial_file_system(&layout);
        }
    }
}
