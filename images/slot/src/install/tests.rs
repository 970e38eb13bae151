use std::cell::RefCell;
use std::io::Cursor;
use std::rc::Rc;

use frond_account::nkey::{KeyPair, Role};

use super::*;
use crate::write_bundle;

/// A partition in memory that the test can look at.
#[derive(Clone, Default)]
struct Memory(Rc<RefCell<Cursor<Vec<u8>>>>);

impl Read for Memory {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.0.borrow_mut().read(to)
    }
}
impl Write for Memory {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(from)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
impl Seek for Memory {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.borrow_mut().seek(to)
    }
}

#[derive(Default)]
struct Slots {
    begun: bool,
    boot: Memory,
    root: Memory,
    /// A medium that changes what it was given.
    spoils: bool,
}

impl Place for Slots {
    type Target = Memory;

    fn begin(&mut self, _: &Manifest) -> io::Result<()> {
        self.begun = true;
        Ok(())
    }
    fn target(&mut self, name: &str) -> io::Result<(Memory, u64)> {
        let memory = if name == "boot" {
            &self.boot
        } else {
            &self.root
        };
        Ok((memory.clone(), 4_000_000))
    }
    fn progress(&mut self, done: u64, whole: u64) {
        assert!(done <= whole);
    }
    fn sync(&mut self, target: &mut Memory) -> io::Result<()> {
        if self.spoils {
            target.0.borrow_mut().get_mut()[7] ^= 1;
        }
        Ok(())
    }
}

fn pair(letter: u8) -> KeyPair {
    KeyPair::from_random(Role::Operator, &[letter; 32])
}

fn keys(letter: u8) -> Keys {
    Keys {
        threshold: 1,
        keys: vec![pair(letter).public_key()],
    }
}

fn bar() -> Bar {
    Bar {
        release: keys(b'r'),
        emergency: keys(b'e'),
        board: "box".into(),
        floor: 4,
    }
}

fn boot() -> Vec<u8> {
    (0..3_000_000_u32).map(|it| (it % 251) as u8).collect()
}

fn bundle(version: u64, downgrade_from: Option<u64>, signer: u8) -> Vec<u8> {
    let manifest = Manifest {
        board: "box".into(),
        version,
        name: format!("release {version}"),
        issued_s: 0,
        downgrade_from,
        parts: Vec::new(),
    };
    let mut bytes = Vec::new();
    let parts: [(&str, &[u8]); 2] = [("boot", &boot()), ("root", b"a small root")];
    write_bundle(manifest, &parts, &[pair(signer)], &mut bytes).unwrap();
    bytes
}

#[test]
fn what_was_signed_is_what_is_there() {
    let mut slots = Slots::default();
    let manifest = install(&mut bundle(5, None, b'r').as_slice(), &bar(), &mut slots).unwrap();
    assert_eq!(manifest.version, 5);
    assert_eq!(*slots.boot.0.borrow().get_ref(), boot());
    assert_eq!(slots.root.0.borrow().get_ref(), b"a small root");
}

#[test]
fn what_is_not_for_here_leaves_the_slot_alone() {
    let cases = [
        (bundle(4, None, b'r'), "not newer"),
        (bundle(5, None, b'x'), "not signed"),
        (bundle(3, Some(4), b'r'), "emergency keys"),
        (bundle(3, Some(3), b'e'), "not newer"),
        (b"frondcfg and something".to_vec(), "no image bundle"),
    ];
    for (bytes, why) in cases {
        let mut slots = Slots::default();
        let error = install(&mut bytes.as_slice(), &bar(), &mut slots).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
        assert!(!slots.begun);
    }
    let other = Bar {
        board: "till".into(),
        ..bar()
    };
    let error = install(
        &mut bundle(5, None, b'r').as_slice(),
        &other,
        &mut Slots::default(),
    );
    assert!(error.unwrap_err().to_string().contains("this is till"));
}

#[test]
fn an_older_one_needs_a_permit_of_the_emergency_keys() {
    let bytes = bundle(3, Some(4), b'e');
    install(&mut bytes.as_slice(), &bar(), &mut Slots::default()).unwrap();
}

/// Cut short or changed anywhere, it is refused, and no changed piece is written.
#[test]
fn a_damaged_one_is_noticed_wherever_it_is() {
    let whole = bundle(5, None, b'r');
    for at in (0..whole.len()).step_by(997) {
        let mut slots = Slots::default();
        assert!(install(&mut &whole[..at], &bar(), &mut slots).is_err());
        let mut changed = whole.clone();
        changed[at] ^= 0x10;
        let mut slots = Slots::default();
        // A bit of gzip's own head may be free to change; what is written is right then.
        let done = install(&mut changed.as_slice(), &bar(), &mut slots).is_ok();
        let written = slots.boot.0.borrow().get_ref().clone();
        assert!(!done || written == boot(), "byte {at}");
        assert!(boot().starts_with(&written), "byte {at}");
    }
}

#[test]
fn a_medium_that_changes_it_is_noticed() {
    let mut slots = Slots {
        spoils: true,
        ..Slots::default()
    };
    let error = install(&mut bundle(5, None, b'r').as_slice(), &bar(), &mut slots).unwrap_err();
    assert!(error.to_string().contains("give back"), "{error}");
}
