use std::cmp::Ordering;
use std::fmt;

/// Nine decimal digits in each limb.
const LIMB: u32 = 1_000_000_000;
const LIMB_DIGITS: usize = 9;

/// An integer of any size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Decimal {
    is_negative: bool,
    /// The smallest first; no zero at the end, so none at all for zero.
    limbs: Vec<u32>,
}

impl Decimal {
    /// Reads digits with a sign before them or none; `None` when it is not that.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text).as_bytes();
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let limb = |part: &[u8]| {
            part.iter()
                .fold(0, |n, digit| n * 10 + u32::from(digit - b'0'))
        };
        let limbs = digits.rchunks(LIMB_DIGITS).map(limb).collect();
        Some(Self::new(text.starts_with('-'), limbs))
    }

    /// The sum.
    pub(crate) fn add(&self, other: &Self) -> Self {
        if self.is_negative == other.is_negative {
            return Self::new(self.is_negative, sum(&self.limbs, &other.limbs));
        }
        match larger(&self.limbs, &other.limbs) {
            Ordering::Less => Self::new(other.is_negative, rest(&other.limbs, &self.limbs)),
            Ordering::Equal | Ordering::Greater => {
                Self::new(self.is_negative, rest(&self.limbs, &other.limbs))
            }
        }
    }

    /// The difference.
    pub(crate) fn sub(&self, other: &Self) -> Self {
        self.add(&Self::new(!other.is_negative, other.limbs.clone()))
    }

    fn new(is_negative: bool, mut limbs: Vec<u32>) -> Self {
        while limbs.last() == Some(&0) {
            limbs.pop();
        }
        Self {
            is_negative: is_negative && !limbs.is_empty(),
            limbs,
        }
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_negative {
            f.write_str("-")?;
        }
        let mut limbs = self.limbs.iter().rev();
        write!(f, "{}", limbs.next().copied().unwrap_or(0))?;
        limbs.try_for_each(|limb| write!(f, "{limb:09}"))
    }
}

fn larger(a: &[u32], b: &[u32]) -> Ordering {
    let by_len = a.len().cmp(&b.len());
    by_len.then_with(|| a.iter().rev().cmp(b.iter().rev()))
}

fn sum(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut carry = 0;
    let mut limbs = Vec::with_capacity(a.len().max(b.len()) + 1);
    for at in 0..a.len().max(b.len()) {
        let digit = |limbs: &[u32]| limbs.get(at).copied().unwrap_or(0);
        let whole = digit(a) + digit(b) + carry;
        limbs.push(whole % LIMB);
        carry = whole / LIMB;
    }
    limbs.push(carry);
    limbs
}

/// `a - b`, where `a` is not the smaller one.
fn rest(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut borrowed = 0;
    let limbs = a.iter().enumerate().map(|(at, digit)| {
        let taken = b.get(at).copied().unwrap_or(0) + borrowed;
        borrowed = u32::from(*digit < taken);
        digit + borrowed * LIMB - taken
    });
    limbs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use frond_clock::Rng;

    fn of(text: &str) -> Decimal {
        Decimal::parse(text).unwrap()
    }

    #[test]
    fn agrees_with_the_integers_there_are() {
        let mut rng = Rng::seeded(3);
        for _ in 0..5000 {
            let mut next = || {
                let size = i128::from(rng.next_u64()) * i128::from(rng.next_u64() >> 8);
                let size = size >> rng.below(120);
                if rng.below(2) == 0 { -size } else { size }
            };
            let (a, b) = (next(), next());
            let (x, y) = (of(&a.to_string()), of(&b.to_string()));
            assert_eq!(x.add(&y).to_string(), (a + b).to_string());
            assert_eq!(x.sub(&y).to_string(), (a - b).to_string());
            assert_eq!(of(&x.to_string()), x);
        }
    }

    #[test]
    fn grows_without_end_and_reads_only_digits() {
        let nines = "9".repeat(5000);
        let grown = of(&nines).add(&of("+1"));
        assert_eq!(grown.to_string(), format!("1{}", "0".repeat(5000)));
        assert_eq!(grown.sub(&of("1")).to_string(), nines);
        for zero in ["0", "-0", "+000000000000"] {
            assert_eq!(of(zero).to_string(), "0");
        }
        for wrong in ["", "-", "+-1", "1_0", "1.5", "0x1", " 1"] {
            assert_eq!(Decimal::parse(wrong), None, "{wrong}");
        }
    }
}
