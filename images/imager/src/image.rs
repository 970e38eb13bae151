use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use frond_slot::limits::SECTOR_BYTES;
use frond_slot::{BootState, Gpt, Kind, Manifest, Partition, write_bundle};

use crate::debian::Debian;
use crate::error::{About as _, Outcome};
use crate::fat::{SELECT_MIB, fat};
use crate::kernel::Kernel;
use crate::keys::Signers;
use crate::place::Place;
use crate::profile::Profile;
use crate::root::{Own, Programs};
use crate::tools::need;
use crate::verity::Verity;
use crate::{boot, release, root, sbom};

/// What to build.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Rises from one release to the next.
    pub version: u64,
    /// It may replace newer ones up to that (with the emergency keys).
    pub downgrade_from: Option<u64>,
    /// The service.
    pub frond: PathBuf,
    /// The first process.
    pub init: PathBuf,
    /// Libraries of those two, where they are not static.
    pub libraries: Vec<PathBuf>,
    /// Where everything goes.
    pub folder: PathBuf,
    /// Whether the image is packed too, which takes a while.
    pub is_packed: bool,
}

/// What one slot holds.
#[derive(Debug)]
pub struct Content {
    boot: Vec<u8>,
    root: Vec<u8>,
    select: Vec<u8>,
}

/// What was built.
#[derive(Clone, Debug)]
pub struct Built {
    /// The disk image.
    pub image: PathBuf,
    /// The same, packed.
    pub packed: Option<PathBuf>,
    /// The bundle that brings a running box there.
    pub bundle: PathBuf,
}

const MIB: u64 = 1024 * 1024;
const SECTORS_PER_MIB: u64 = MIB / SECTOR_BYTES as u64;
/// Partitions of all images begin with it.
const PREFIX: &str = "frond_";
/// Of the data partition, until the first start lets it grow.
const DATA_MIB: u64 = 8;
const TOOLS: [(&str, &str); 6] = [
    ("/usr/bin/mksquashfs", "squashfs-tools"),
    ("/usr/bin/mcopy", "mtools"),
    ("/sbin/mkfs.vfat", "dosfstools"),
    ("/usr/bin/mkimage", "u-boot-tools"),
    ("/usr/bin/xz", "xz-utils"),
    (
        "/usr/share/keyrings/debian-archive-keyring.gpg",
        "debian-archive-keyring",
    ),
];

/// Builds an image, its bundle, and what goes with them.
///
/// # Errors
/// What is missing or fails.
pub fn build(
    place: &Place,
    profile: &Profile,
    wanted: &Wanted,
    signers: &Signers,
) -> Outcome<Built> {
    let _alone = place.alone()?;
    need(&TOOLS)?;
    let work = place.made_anew(&format!("work/{}-{}", profile.name, wanted.version))?;
    let debian = Debian::open(
        &place.made("debian")?,
        &profile.architecture,
        &profile.release,
    )?;
    let kernel = Kernel::open(&debian, profile, &place.made("kernel")?)?;
    let programs = Programs::open(&debian, profile, &work.join("programs"))?;
    let content = content(
        place,
        profile,
        wanted,
        signers,
        (&debian, &kernel, &programs),
        &work,
    )?;
    std::fs::create_dir_all(&wanted.folder).about(&wanted.folder)?;
    let base = wanted
        .folder
        .join(format!("frond-{}-{:04}", profile.name, wanted.version));
    let bundle = base.with_extension("frondimg");
    write_update(place, profile, wanted, signers, &content, &bundle)?;
    let image = base.with_extension("img");
    assemble(profile, &content, &image)?;
    let packed = wanted
        .is_packed
        .then(|| release::pack(&image))
        .transpose()?;
    let bill = sbom::write(place, profile, wanted.version, &kernel, &programs, &base)?;
    let mut files = vec![bundle.clone(), image.clone(), bill];
    files.extend(packed.clone());
    release::sums(&files, &base, signers)?;
    std::fs::remove_dir_all(&work).about(&work)?;
    Ok(Built {
        image,
        packed,
        bundle,
    })
}

fn content(
    place: &Place,
    profile: &Profile,
    wanted: &Wanted,
    signers: &Signers,
    (debian, kernel, programs): (&Debian, &Kernel, &Programs),
    work: &Path,
) -> Outcome<Content> {
    let epoch_s = place.epoch_s()?;
    let release = format!("board={}\nversion={}\n", profile.name, wanted.version);
    let keys = |(threshold, keys): &(u8, Vec<String>)| format!("{threshold} {}\n", keys.join(" "));
    let own = Own {
        init: &wanted.init,
        frond: &wanted.frond,
        libraries: &wanted.libraries,
        overlay: &place.sources().join("images/overlay"),
        files: vec![
            ("etc/frond-release".to_owned(), release),
            (
                "etc/frond/time-servers".to_owned(),
                profile.time_servers.join(" "),
            ),
            (
                "etc/frond/image-release.keys".to_owned(),
                keys(&signers.release),
            ),
            (
                "etc/frond/image-emergency.keys".to_owned(),
                keys(&signers.emergency),
            ),
        ],
    };
    let root = root::root(programs, kernel, profile, &own, work, epoch_s)?;
    let verity = Verity::over(root);
    let initial = root::initial(programs, kernel, profile, &own, &verity)?;
    let others = boot_files(debian, profile, work)?;
    let files = boot::slot(profile, kernel, &initial, others.clone())?;
    let select = boot::select(place, profile, kernel, others, work)?;
    Ok(Content {
        boot: fat(work, "boot", profile.sizes.boot, &files, epoch_s)?,
        select: fat(work, "frond", profile.sizes.select, &select, epoch_s)?,
        root: verity.content,
    })
}

/// Files for the firmware that come from packages.
fn boot_files(debian: &Debian, profile: &Profile, work: &Path) -> Outcome<boot::Files> {
    let mut files = Vec::new();
    for want in &profile.boot_files {
        let (package, path) = want.split_once(':').unwrap_or((want, ""));
        let folder = work.join("boot-files").join(package);
        for package in debian.fetch(&[package.to_owned()])? {
            package.unpack(&folder, &[&format!("./{path}")])?;
        }
        let content = std::fs::read(folder.join(path)).about(path)?;
        let name = path.rsplit('/').next().unwrap_or_default();
        files.push((name.to_owned(), content));
    }
    Ok(files)
}

fn write_update(
    place: &Place,
    profile: &Profile,
    wanted: &Wanted,
    signers: &Signers,
    content: &Content,
    path: &Path,
) -> Outcome<()> {
    let manifest = Manifest {
        board: profile.name.clone(),
        version: wanted.version,
        name: format!("Frond {} for {}", wanted.version, profile.title),
        issued_s: i64::try_from(place.epoch_s()?).about("the date")?,
        downgrade_from: wanted.downgrade_from,
        parts: Vec::new(),
    };
    let mut file = std::io::BufWriter::new(File::create(path).about(path)?);
    let parts: [(&str, &[u8]); 2] = [("boot", &content.boot), ("root", &content.root)];
    let signed = write_bundle(manifest, &parts, &signers.pairs, &mut file).about(path)?;
    file.flush().about(path)?;
    let manifest = path.with_extension("manifest.json");
    std::fs::write(&manifest, &signed.body).about(&manifest)
}

/// The partitions: numbers are what the loaders know them by, so the first three stay where they
/// are; names are what the box knows them by.
fn table(profile: &Profile, roots_mib: u64) -> Gpt {
    let sizes = profile.sizes;
    // The boot state lies before all others, where the loader's script reads it without a table.
    let places = [
        ("select", Kind::Boot, sizes.select),
        ("boot_a", Kind::Boot, sizes.boot),
        ("boot_b", Kind::Boot, sizes.boot),
        ("bootstate", Kind::Linux, 1),
        ("root_a", Kind::Linux, roots_mib),
        ("root_b", Kind::Linux, roots_mib),
        ("state", Kind::Linux, sizes.state),
        ("data", Kind::Linux, DATA_MIB),
    ];
    let mut next = SELECT_MIB;
    let partitions = places.map(|(name, kind, mib)| {
        let start = if name == "bootstate" { 1 } else { next };
        if name != "bootstate" {
            next += mib;
        }
        Partition {
            name: format!("{PREFIX}{name}"),
            kind,
            start: start * SECTORS_PER_MIB,
            sectors: mib * SECTORS_PER_MIB,
        }
    });
    Gpt::new(partitions.to_vec(), &profile.name)
}

fn assemble(profile: &Profile, content: &Content, path: &Path) -> Outcome<()> {
    let table = table(profile, profile.sizes.root);
    let end = table
        .partitions
        .iter()
        .map(|it| it.start + it.sectors)
        .max();
    let sectors = end.unwrap_or(0) + SECTORS_PER_MIB;
    let _ = std::fs::remove_file(path);
    let mut disk = File::create(path).about(path)?;
    disk.set_len(sectors * SECTOR_BYTES as u64).about(path)?;
    let mut state = [0; 8192];
    let mut cursor = std::io::Cursor::new(state.as_mut_slice());
    BootState::default()
        .write(&mut cursor, |_| Ok(()))
        .about(path)?;
    let parts: [(&str, &[u8]); 4] = [
        ("select", &content.select),
        ("boot_a", &content.boot),
        ("root_a", &content.root),
        ("bootstate", &state),
    ];
    for (name, bytes) in parts {
        let place = table.find(&format!("{PREFIX}{name}"));
        let Some((_, partition)) = place else {
            continue;
        };
        let room = partition.sectors * SECTOR_BYTES as u64;
        if bytes.len() as u64 > room {
            let text = format!("{name} has {} bytes, its partition {room}", bytes.len());
            return Err(crate::Error::new(text));
        }
        disk.seek(SeekFrom::Start(partition.start * SECTOR_BYTES as u64))
            .about(path)?;
        write_sparsely(&mut disk, bytes).about(path)?;
    }
    table.write(&mut disk, sectors, |_| Ok(())).about(path)
}

/// Leaves holes where there are only zeros.
fn write_sparsely(disk: &mut File, bytes: &[u8]) -> std::io::Result<()> {
    for block in bytes.chunks(64 * 1024) {
        if block.iter().all(|byte| *byte == 0) {
            disk.seek(SeekFrom::Current(i64::try_from(block.len()).unwrap_or(0)))?;
        } else {
            disk.write_all(block)?;
        }
    }
    Ok(())
}
