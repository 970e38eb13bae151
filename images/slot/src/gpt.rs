use std::io::{self, Read, Seek, SeekFrom, Write};

use sha2::{Digest as _, Sha256};

use crate::limits::{PARTITIONS_MAX, SECTOR_BYTES};

/// What a partition is for, as its type tells others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// FAT, which the firmware or the boot loader reads.
    Boot,
    /// Everything else.
    Linux,
}

/// A partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Its name in the table.
    pub name: String,
    /// What it is for.
    pub kind: Kind,
    /// Where it starts, in sectors.
    pub start: u64,
    /// How long it is, in sectors.
    pub sectors: u64,
}

/// A GUID partition table: what is where on a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gpt {
    /// In the order of their numbers, from 1.
    pub partitions: Vec<Partition>,
    disk_id: [u8; 16],
    ids: Vec<[u8; 16]>,
}

/// Why there is no table.
#[derive(Debug, thiserror::Error)]
pub enum GptError {
    /// Neither copy is whole.
    #[error("the disk has no partition table")]
    None,
    /// The device's.
    #[error(transparent)]
    Io(#[from] io::Error),
}

const SIGNATURE: &[u8; 8] = b"EFI PART";
const ENTRY_BYTES: usize = 128;
const SECTOR: u64 = SECTOR_BYTES as u64;
/// Sectors of the entries.
const ENTRIES_SECTORS: u64 = (PARTITIONS_MAX * ENTRY_BYTES / SECTOR_BYTES) as u64;
/// Characters of a name.
const NAME_CHARS: usize = 36;

impl Kind {
    const fn guid(self) -> [u8; 16] {
        match self {
            // Microsoft basic data: what boot loaders look for FAT in.
            Self::Boot => [
                0xa2, 0xa0, 0xd0, 0xeb, 0xe5, 0xb9, 0x33, 0x44, 0x87, 0xc0, 0x68, 0xb6, 0xb7, 0x26,
                0x99, 0xc7,
            ],
            Self::Linux => [
                0xaf, 0x3d, 0xc6, 0x0f, 0x83, 0x84, 0x72, 0x47, 0x8e, 0x79, 0x3d, 0x69, 0xd8, 0x47,
                0x7d, 0xe4,
            ],
        }
    }
}

impl Gpt {
    /// Of these partitions, with identities that follow from `seed` alone.
    #[must_use]
    pub fn new(partitions: Vec<Partition>, seed: &str) -> Self {
        let ids = partitions
            .iter()
            .map(|it| derived(&format!("{seed}/{}", it.name)));
        Self {
            disk_id: derived(seed),
            ids: ids.collect(),
            partitions,
        }
    }

    /// The partition of that name, and its number.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<(usize, &Partition)> {
        let mut all = self.partitions.iter().enumerate();
        let (at, found) = all.find(|(_, it)| it.name == name)?;
        Some((at + 1, found))
    }

    /// Sectors that the table needs after the last partition.
    #[must_use]
    pub const fn tail_sectors() -> u64 {
        ENTRIES_SECTORS + 1
    }

    /// Lets the last partition end where the disk does (on a whole MiB); whether that makes it longer.
    pub fn grow_last(&mut self, disk_sectors: u64) -> bool {
        let end = disk_sectors.saturating_sub(Self::tail_sectors()) / 2048 * 2048;
        let Some(last) = self.partitions.last_mut() else {
            return false;
        };
        let longer = end.saturating_sub(last.start);
        if longer <= last.sectors {
            return false;
        }
        last.sectors = longer;
        true
    }

    /// Reads the table, from its second copy when the first is not whole.
    ///
    /// # Errors
    /// When there is none.
    pub fn read(disk: &mut (impl Read + Seek)) -> Result<Self, GptError> {
        let sectors = disk.seek(SeekFrom::End(0))? / SECTOR;
        for at in [1, sectors.saturating_sub(1)] {
            if let Some(table) = Self::read_copy(disk, at)? {
                return Ok(table);
            }
        }
        Err(GptError::None)
    }

    fn read_copy(disk: &mut (impl Read + Seek), at: u64) -> io::Result<Option<Self>> {
        let mut header = [0; SECTOR_BYTES];
        disk.seek(SeekFrom::Start(at * SECTOR))?;
        disk.read_exact(&mut header)?;
        let Some(entries_at) = checked(&header) else {
            return Ok(None);
        };
        let mut entries = vec![0; PARTITIONS_MAX * ENTRY_BYTES];
        disk.seek(SeekFrom::Start(entries_at.saturating_mul(SECTOR)))?;
        disk.read_exact(&mut entries)?;
        if le32(&header, 88) != Some(crc32fast::hash(&entries)) {
            return Ok(None);
        }
        let mut table = Self {
            partitions: Vec::new(),
            disk_id: chunk(&header, 56).unwrap_or_default(),
            ids: Vec::new(),
        };
        for entry in entries.chunks_exact(ENTRY_BYTES) {
            if let Some((partition, id)) = parse_entry(entry) {
                table.partitions.push(partition);
                table.ids.push(id);
            }
        }
        Ok(Some(table))
    }

    /// Writes both copies and the record before them that keeps old tools away: the second copy
    /// first, so that one of them is whole at any moment.
    ///
    /// # Errors
    /// The device's.
    pub fn write<D: Write + Seek>(
        &self,
        disk: &mut D,
        disk_sectors: u64,
        mut sync: impl FnMut(&mut D) -> io::Result<()>,
    ) -> io::Result<()> {
        let entries = self.entries();
        let last = disk_sectors - 1;
        let places = [(last, 1, last - ENTRIES_SECTORS), (1, last, 2)];
        for (at, other, entries_at) in places {
            disk.seek(SeekFrom::Start(entries_at * SECTOR))?;
            disk.write_all(&entries)?;
            disk.seek(SeekFrom::Start(at * SECTOR))?;
            disk.write_all(&self.header(at, other, entries_at, disk_sectors, &entries))?;
            sync(disk)?;
        }
        disk.seek(SeekFrom::Start(0))?;
        disk.write_all(&protective(disk_sectors))?;
        sync(disk)
    }

    fn header(
        &self,
        at: u64,
        other: u64,
        entries_at: u64,
        disk_sectors: u64,
        entries: &[u8],
    ) -> [u8; SECTOR_BYTES] {
        let mut header = [0; SECTOR_BYTES];
        put(&mut header, 0, SIGNATURE);
        put(&mut header, 8, &0x0001_0000_u32.to_le_bytes());
        put(&mut header, 12, &92_u32.to_le_bytes());
        put(&mut header, 24, &at.to_le_bytes());
        put(&mut header, 32, &other.to_le_bytes());
        put(&mut header, 40, &(2 + ENTRIES_SECTORS).to_le_bytes());
        let last_usable = disk_sectors - 1 - Self::tail_sectors();
        put(&mut header, 48, &last_usable.to_le_bytes());
        put(&mut header, 56, &self.disk_id);
        put(&mut header, 72, &entries_at.to_le_bytes());
        put(&mut header, 80, &(PARTITIONS_MAX as u32).to_le_bytes());
        put(&mut header, 84, &(ENTRY_BYTES as u32).to_le_bytes());
        put(&mut header, 88, &crc32fast::hash(entries).to_le_bytes());
        let crc = crc32fast::hash(header.get(..92).unwrap_or_default());
        put(&mut header, 16, &crc.to_le_bytes());
        header
    }

    fn entries(&self) -> Vec<u8> {
        let mut all = vec![0; PARTITIONS_MAX * ENTRY_BYTES];
        let entries = all.chunks_exact_mut(ENTRY_BYTES);
        for (entry, (partition, id)) in entries.zip(self.partitions.iter().zip(&self.ids)) {
            put(entry, 0, &partition.kind.guid());
            put(entry, 16, id);
            put(entry, 32, &partition.start.to_le_bytes());
            let last = partition.start + partition.sectors - 1;
            put(entry, 40, &last.to_le_bytes());
            for (at, unit) in partition.name.encode_utf16().take(NAME_CHARS).enumerate() {
                put(entry, 56 + at * 2, &unit.to_le_bytes());
            }
        }
        all
    }
}

/// Where the entries are, from a header that is whole and of the size that is written here.
fn checked(header: &[u8; SECTOR_BYTES]) -> Option<u64> {
    let mut blank = *header;
    put(&mut blank, 16, &[0; 4]);
    let crc = crc32fast::hash(blank.get(..92)?);
    let is_whole = header.starts_with(SIGNATURE) && le32(header, 16) == Some(crc);
    let is_ours = le32(header, 80) == Some(PARTITIONS_MAX as u32)
        && le32(header, 84) == Some(ENTRY_BYTES as u32);
    (is_whole && is_ours).then(|| le64(header, 72)).flatten()
}

fn parse_entry(entry: &[u8]) -> Option<(Partition, [u8; 16])> {
    let kind = chunk(entry, 0).filter(|guid: &[u8; 16]| *guid != [0; 16])?;
    let (start, last) = (le64(entry, 32)?, le64(entry, 40)?);
    let units = entry.get(56..)?.chunks_exact(2);
    let units = units.map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
    let units: Vec<u16> = units.take_while(|unit| *unit != 0).collect();
    let partition = Partition {
        name: String::from_utf16_lossy(&units),
        kind: if kind == Kind::Boot.guid() {
            Kind::Boot
        } else {
            Kind::Linux
        },
        start,
        sectors: last.checked_sub(start)?.checked_add(1)?,
    };
    Some((partition, chunk(entry, 16)?))
}

/// The old table's one partition, of the kind that says: look elsewhere.
fn protective(disk_sectors: u64) -> [u8; SECTOR_BYTES] {
    let mut sector = [0; SECTOR_BYTES];
    let sectors = u32::try_from(disk_sectors - 1).unwrap_or(u32::MAX);
    put(&mut sector, 446, &[0, 0, 2, 0, 0xee, 0xff, 0xff, 0xff]);
    put(&mut sector, 454, &1_u32.to_le_bytes());
    put(&mut sector, 458, &sectors.to_le_bytes());
    put(&mut sector, 510, &[0x55, 0xaa]);
    sector
}

/// An identity that the same text always gives.
fn derived(text: &str) -> [u8; 16] {
    let hash = Sha256::digest(text.as_bytes());
    let mut id: [u8; 16] = chunk(&hash, 0).unwrap_or_default();
    // Of version 8, "custom", in the form of a UUID.
    id[7] = (id[7] & 0x0f) | 0x80;
    id[8] = (id[8] & 0x3f) | 0x80;
    id
}

fn put(to: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = to.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

fn chunk<const N: usize>(from: &[u8], at: usize) -> Option<[u8; N]> {
    from.get(at..)?.first_chunk().copied()
}

fn le32(from: &[u8], at: usize) -> Option<u32> {
    chunk(from, at).map(u32::from_le_bytes)
}

fn le64(from: &[u8], at: usize) -> Option<u64> {
    chunk(from, at).map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn table() -> Gpt {
        let part = |name: &str, kind, start| Partition {
            name: name.into(),
            kind,
            start,
            sectors: 2048,
        };
        let parts = vec![
            part("select", Kind::Boot, 2048),
            part("data", Kind::Linux, 4096),
        ];
        Gpt::new(parts, "test")
    }

    #[test]
    fn either_copy_will_do() {
        for spoilt in [1, 16383] {
            let mut disk = Cursor::new(vec![0; 16384 * SECTOR_BYTES]);
            table().write(&mut disk, 16384, |_| Ok(())).unwrap();
            disk.get_mut()[spoilt * SECTOR_BYTES + 20] ^= 1;
            assert_eq!(Gpt::read(&mut disk).unwrap(), table());
        }
    }

    #[test]
    fn the_last_partition_takes_what_is_left() {
        let mut grown = table();
        assert!(grown.grow_last(16384));
        assert_eq!(grown.partitions[1].sectors, 7 * 2048 - 4096);
        assert!(!grown.grow_last(16384));
        assert_eq!(grown.partitions[0], table().partitions[0]);
    }

    #[test]
    fn an_empty_disk_has_no_table() {
        let mut disk = Cursor::new(vec![0; 64 * SECTOR_BYTES]);
        assert!(matches!(Gpt::read(&mut disk), Err(GptError::None)));
    }
}
