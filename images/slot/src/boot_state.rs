use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom, Write};

use crate::limits::{BOOT_STATE_BYTES, BOOT_STATE_COPY_BYTES, CONFIRMED_TRIES, TRIAL_TRIES};

/// One of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Slot {
    /// The first.
    A,
    /// The second.
    B,
}

/// Starts that are left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tries(pub u8);

/// Which slot starts next and how often it may be tried: what the boot loader reads and counts
/// down. Names and meaning are those of RAUC's U-Boot backend; the form is U-Boot's environment
/// (CRC-32, then `NAME=value` with a NUL after each), in one sector, twice.
///
/// Both copies are written, one after the other, and the first that is whole counts: as a sector
/// is written whole or not at all, at any moment at least one is the old state or the new one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootState {
    /// The slot that is tried first.
    pub first: Slot,
    /// What is left for A.
    pub a: Tries,
    /// What is left for B.
    pub b: Tries,
    /// What others keep here.
    pub others: BTreeMap<String, String>,
}

impl Slot {
    /// `A` or `B`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
        }
    }

    /// In partition names.
    #[must_use]
    pub const fn letter(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::B => "b",
        }
    }

    /// The one that doesn't run when this one does.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    /// From its name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "A" => Some(Self::A),
            "B" => Some(Self::B),
            _ => None,
        }
    }
}

impl Default for BootState {
    /// Of a new image: A is confirmed, B is empty.
    fn default() -> Self {
        Self {
            first: Slot::A,
            a: Tries(CONFIRMED_TRIES),
            b: Tries(0),
            others: BTreeMap::new(),
        }
    }
}

impl BootState {
    /// What is left for a slot.
    #[must_use]
    pub const fn tries(&self, slot: Slot) -> Tries {
        match slot {
            Slot::A => self.a,
            Slot::B => self.b,
        }
    }

    /// Sets what is left for a slot.
    pub const fn set_tries(&mut self, slot: Slot, tries: u8) {
        match slot {
            Slot::A => self.a = Tries(tries),
            Slot::B => self.b = Tries(tries),
        }
    }

    /// The slot is written anew from now on: it must not be started.
    pub const fn spoil(&mut self, slot: Slot) {
        self.first = slot.other();
        self.set_tries(slot, 0);
    }

    /// The slot starts next, on trial.
    pub const fn try_slot(&mut self, slot: Slot) {
        self.first = slot;
        self.set_tries(slot, TRIAL_TRIES);
    }

    /// The slot is the one from now on.
    pub const fn confirm(&mut self, slot: Slot) {
        self.first = slot;
        self.set_tries(slot, CONFIRMED_TRIES);
    }

    /// The slot was tried and is not good.
    pub const fn give_up(&mut self, slot: Slot) {
        self.spoil(slot);
    }

    /// As the boot loader reads it.
    #[must_use]
    pub fn encode(&self) -> [u8; BOOT_STATE_BYTES] {
        let order = [self.first.name(), self.first.other().name()].join(" ");
        let mut text = format!(
            "BOOT_ORDER={order}\0BOOT_A_LEFT={:x}\0BOOT_B_LEFT={:x}\0",
            self.a.0, self.b.0
        );
        for (name, value) in &self.others {
            text.push_str(&format!("{name}={value}\0"));
        }
        let mut sector = [0; BOOT_STATE_BYTES];
        let (crc, body) = sector.split_at_mut(4);
        let room = body.len() - 1;
        for (to, from) in body.iter_mut().take(room).zip(text.bytes()) {
            *to = from;
        }
        crc.copy_from_slice(&crc32fast::hash(body).to_le_bytes());
        sector
    }

    /// From one copy; nothing when it is not whole.
    #[must_use]
    pub fn decode(sector: &[u8; BOOT_STATE_BYTES]) -> Option<Self> {
        let (crc, body) = sector.split_first_chunk::<4>()?;
        if u32::from_le_bytes(*crc) != crc32fast::hash(body) {
            return None;
        }
        let text = core::str::from_utf8(body).ok()?;
        let words = text.split('\0').take_while(|word| !word.is_empty());
        let mut others: BTreeMap<String, String> = words
            .filter_map(|word| word.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let order = others.remove("BOOT_ORDER")?;
        // U-Boot's setexpr writes hexadecimal numbers without a prefix.
        let mut tries = |name| u8::from_str_radix(&others.remove(name)?, 16).ok();
        Some(Self {
            a: Tries(tries("BOOT_A_LEFT")?),
            b: Tries(tries("BOOT_B_LEFT")?),
            first: Slot::parse(order.split(' ').next()?)?,
            others,
        })
    }

    /// The first whole copy; nothing when there is none.
    ///
    /// # Errors
    /// The device's.
    pub fn read(device: &mut (impl Read + Seek)) -> io::Result<Option<Self>> {
        for at in BOOT_STATE_COPY_BYTES {
            let mut sector = [0; BOOT_STATE_BYTES];
            device.seek(SeekFrom::Start(at))?;
            device.read_exact(&mut sector)?;
            if let Some(state) = Self::decode(&sector) {
                return Ok(Some(state));
            }
        }
        Ok(None)
    }

    /// Writes both copies; `sync` makes sure of one before the other is touched.
    ///
    /// # Errors
    /// The device's.
    pub fn write<D: Write + Seek>(
        &self,
        device: &mut D,
        mut sync: impl FnMut(&mut D) -> io::Result<()>,
    ) -> io::Result<()> {
        for at in BOOT_STATE_COPY_BYTES {
            device.seek(SeekFrom::Start(at))?;
            device.write_all(&self.encode())?;
            sync(device)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut state = BootState::default();
        state.others.insert("FROND_VERSION".into(), "7".into());
        state.try_slot(Slot::B);
        assert_eq!(BootState::decode(&state.encode()), Some(state));
    }

    #[test]
    fn one_spoilt_copy_is_no_loss() {
        let state = BootState::default();
        for torn in BOOT_STATE_COPY_BYTES {
            let mut disk = Cursor::new(vec![0; 8192]);
            state.write(&mut disk, |_| Ok(())).unwrap();
            disk.get_mut()[usize::try_from(torn).unwrap() + 9] ^= 1;
            assert_eq!(BootState::read(&mut disk).unwrap(), Some(state.clone()));
        }
    }

    #[test]
    fn at_every_write_it_is_the_old_or_the_new_state() {
        let old = BootState::default();
        let mut new = old.clone();
        new.try_slot(Slot::B);
        let mut disk = Cursor::new(vec![0; 8192]);
        old.write(&mut disk, |_| Ok(())).unwrap();
        let mut seen = Vec::new();
        let sync = |disk: &mut Cursor<Vec<u8>>| {
            seen.push(BootState::read(&mut disk.clone())?);
            Ok(())
        };
        new.write(&mut disk, sync).unwrap();
        assert_eq!(seen, [Some(new.clone()), Some(new)]);
    }

    #[test]
    fn an_empty_disk_has_no_state() {
        let mut disk = Cursor::new(vec![0; 8192]);
        assert_eq!(BootState::read(&mut disk).unwrap(), None);
    }
}
