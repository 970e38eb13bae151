use crate::Slot;

/// The Raspberry Pi's choice of a boot partition, `autoboot.txt`: the confirmed one, and the other
/// for one start. Partition numbers are those of every image's table.
#[must_use]
pub fn autoboot(confirmed: Slot) -> String {
    let number = |slot| match slot {
        Slot::A => 2,
        Slot::B => 3,
    };
    format!(
        "[all]\ntryboot_a_b=1\nboot_partition={}\n[tryboot]\nboot_partition={}\n",
        number(confirmed),
        number(confirmed.other())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_names_the_confirmed_slot_and_tries_the_other() {
        let a = "[all]\ntryboot_a_b=1\nboot_partition=2\n[tryboot]\nboot_partition=3\n";
        assert_eq!(autoboot(Slot::A), a);
        assert!(autoboot(Slot::B).ends_with("[tryboot]\nboot_partition=2\n"));
        // The firmware reads no more than a sector of it.
        assert!(autoboot(Slot::B).len() < 512);
    }
}
