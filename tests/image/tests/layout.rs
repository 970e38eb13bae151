//! What is where on the media of boards that QEMU does not make: the partition table, the files of
//! the boot partitions, the firmware's choice between them.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test reads files and fails by panicking"
)]

use std::fs::File;
use std::process::Command;

use frond_slot::limits::SECTOR_BYTES;
use frond_slot::{BootState, Gpt, Kind};
use image::{Release, Shelf};

const MIB: u64 = 1024 * 1024;

/// A disk that a test looks into.
struct Image {
    file: File,
    path: String,
    table: Gpt,
}

impl Image {
    fn of(board: &str) -> Self {
        let built = Shelf::hollow(board).release(1, Release::Good);
        let mut file = File::open(&built.image).unwrap();
        Self {
            table: Gpt::read(&mut file).unwrap(),
            path: built.image.display().to_string(),
            file,
        }
    }

    fn start(&self, name: &str) -> u64 {
        let (_, partition) = self.table.find(name).unwrap();
        partition.start * SECTOR_BYTES as u64
    }

    /// What a tool of mtools says of a FAT partition.
    fn ask(&self, tool: &str, partition: &str, path: &str) -> String {
        let place = format!("{}@@{}", self.path, self.start(partition));
        let output = Command::new(tool)
            .args(["-i", &place, path])
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn says(&self, partition: &str, path: &str) -> String {
        self.ask("mtype", partition, &format!("::{path}"))
    }

    fn has(&self, partition: &str, path: &str) -> bool {
        !self.ask("mdir", partition, &format!("::{path}")).is_empty()
    }
}

fn check_table(image: &mut Image) {
    let names: Vec<&str> = image
        .table
        .partitions
        .iter()
        .map(|it| it.name.as_str())
        .collect();
    let expected = [
        "select",
        "boot_a",
        "boot_b",
        "bootstate",
        "root_a",
        "root_b",
        "state",
        "data",
    ];
    assert_eq!(names, expected.map(|name| format!("frond_{name}")));
    for (at, partition) in image.table.partitions.iter().enumerate() {
        let is_boot = at < 3;
        assert_eq!(partition.kind == Kind::Boot, is_boot, "{}", partition.name);
        assert_eq!(
            partition.start * SECTOR_BYTES as u64 % MIB,
            0,
            "{}",
            partition.name
        );
    }
    let mut spans: Vec<(u64, u64)> = image
        .table
        .partitions
        .iter()
        .map(|it| (it.start, it.start + it.sectors))
        .collect();
    spans.sort_unstable();
    assert!(
        spans.windows(2).all(|pair| pair[0].1 <= pair[1].0),
        "{spans:?}"
    );
    assert_eq!(image.start("frond_bootstate"), MIB);
    let mut bytes = vec![0; 8192];
    std::os::unix::fs::FileExt::read_exact_at(&image.file, &mut bytes, MIB).unwrap();
    let state = BootState::read(&mut std::io::Cursor::new(bytes)).unwrap();
    assert_eq!(state, Some(BootState::default()));
    // A tool of others reads the same table.
    let told = Command::new("/sbin/sfdisk")
        .args(["--json", &image.path])
        .output()
        .unwrap();
    let told: serde_json::Value = serde_json::from_slice(&told.stdout).unwrap();
    assert_eq!(told["partitiontable"]["label"], "gpt");
    assert_eq!(
        told["partitiontable"]["partitions"]
            .as_array()
            .unwrap()
            .len(),
        8
    );
}

fn check_raspberry(image: &mut Image, tree: &str) {
    check_table(image);
    let choice = image.says("frond_select", "autoboot.txt");
    let words = "[all]\ntryboot_a_b=1\nboot_partition=2\n[tryboot]\nboot_partition=3\n";
    assert_eq!(choice, words);
    assert_eq!(image.table.find("frond_boot_a").unwrap().0, 2);
    assert_eq!(image.table.find("frond_boot_b").unwrap().0, 3);
    for file in ["kernel8.img", "initrd", "config.txt", "cmdline.txt", tree] {
        assert!(image.has("frond_boot_a", file), "{file}");
    }
    let config = image.says("frond_boot_a", "config.txt");
    for line in [
        "arm_64bit=1",
        "kernel=kernel8.img",
        "initramfs initrd followkernel",
    ] {
        assert!(config.lines().any(|it| it == line), "{config}");
    }
    let line = image.says("frond_boot_a", "cmdline.txt");
    assert_eq!(line.lines().count(), 1, "{line}");
    assert!(
        !line.contains("frond.slot"),
        "one boot partition fits both slots: {line}"
    );
}

#[test]
fn a_card_for_the_raspberry_pi_4_is_one_that_its_firmware_starts() {
    let mut image = Image::of("rpi4");
    check_raspberry(&mut image, "bcm2711-rpi-4-b.dtb");
    for file in ["start4.elf", "fixup4.dat"] {
        assert!(image.has("frond_boot_a", file), "{file}");
    }
}

#[test]
fn a_card_for_the_raspberry_pi_5_is_one_that_its_firmware_starts() {
    let mut image = Image::of("rpi5");
    check_raspberry(&mut image, "bcm2712-rpi-5-b.dtb");
    // Its firmware has its own in the EEPROM.
    assert!(!image.has("frond_boot_a", "start4.elf"));
}

#[test]
fn the_script_of_u_boot_is_there_where_u_boot_starts() {
    let mut image = Image::of("qemu-aarch64");
    check_table(&mut image);
    let script = image.says("frond_select", "boot.scr");
    assert!(
        script.contains("booti ") && !script.contains('@'),
        "{script}"
    );
    for file in ["Image", "initrd", "slot.env"] {
        assert!(image.has("frond_boot_a", file), "{file}");
    }
}
