/// A running hash (FNV-1a) of everything that happened: equal runs have equal traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trace(u64);

impl Default for Trace {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Trace {
    /// Adds one event.
    pub fn note(&mut self, event: &str) {
        for byte in event.bytes().chain([0]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// Adds a number.
    pub fn number(&mut self, number: u64) {
        self.0 = (self.0 ^ number)
            .wrapping_mul(0x0100_0000_01b3)
            .rotate_left(29);
    }
}
