//! HighwayHash with 64 bits, portable: the checksum of nats-server's records and descriptions.
//!
//! spec: github.com/google/highwayhash (hh_types.h, highwayhash.pdf)

const MULTIPLY_0: [u64; 4] = [
    0xdbe6_d5d5_fe4c_ce2f,
    0xa409_3822_299f_31d0,
    0x1319_8a2e_0370_7344,
    0x243f_6a88_85a3_08d3,
];
const MULTIPLY_1: [u64; 4] = [
    0x3bd3_9e10_cb0e_f593,
    0xc0ac_f169_b5f1_8a8c,
    0xbe54_66cf_34e9_0c6c,
    0x4528_21e6_38d0_1377,
];
const PACKET: usize = 32;

/// A hash on its way.
#[derive(Clone, Debug)]
pub(crate) struct Highway {
    v0: [u64; 4],
    v1: [u64; 4],
    mul0: [u64; 4],
    mul1: [u64; 4],
    rest: [u8; PACKET],
    rest_len: usize,
}

impl Highway {
    /// With a key.
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        let key = lanes(key);
        let turned = key.map(|lane| lane.rotate_left(32));
        Self {
            v0: zip(MULTIPLY_0, key, |a, b| a ^ b),
            v1: zip(MULTIPLY_1, turned, |a, b| a ^ b),
            mul0: MULTIPLY_0,
            mul1: MULTIPLY_1,
            rest: [0; PACKET],
            rest_len: 0,
        }
    }

    /// Adds data.
    pub(crate) fn write(&mut self, mut data: &[u8]) {
        while !data.is_empty() {
            let free = self.rest.get_mut(self.rest_len..).unwrap_or_default();
            let count = free.len().min(data.len());
            let (now, later) = data.split_at(count);
            for (to, from) in free.iter_mut().zip(now) {
                *to = *from;
            }
            self.rest_len += count;
            data = later;
            if self.rest_len == PACKET {
                self.update(lanes(&self.rest));
                self.rest_len = 0;
            }
        }
    }

    /// The hash of everything, little endian.
    pub(crate) fn finish(mut self) -> [u8; 8] {
        if self.rest_len > 0 {
            self.update_rest();
        }
        for _ in 0..4 {
            let [a, b, c, d] = self.v0;
            self.update([c, d, a, b].map(|lane| lane.rotate_left(32)));
        }
        let [v0, ..] = self.v0;
        let [v1, ..] = self.v1;
        let [mul0, ..] = self.mul0;
        let [mul1, ..] = self.mul1;
        v0.wrapping_add(v1)
            .wrapping_add(mul0)
            .wrapping_add(mul1)
            .to_le_bytes()
    }

    fn update(&mut self, lanes: [u64; 4]) {
        let added = zip(self.mul0, lanes, u64::wrapping_add);
        self.v1 = zip(self.v1, added, u64::wrapping_add);
        let product = zip(self.v1, self.v0, |v1, v0| (v1 & LOW).wrapping_mul(v0 >> 32));
        self.mul0 = zip(self.mul0, product, |a, b| a ^ b);
        self.v0 = zip(self.v0, self.mul1, u64::wrapping_add);
        let product = zip(self.v0, self.v1, |v0, v1| (v0 & LOW).wrapping_mul(v1 >> 32));
        self.mul1 = zip(self.mul1, product, |a, b| a ^ b);
        self.v0 = zip(self.v0, zipper(self.v1), u64::wrapping_add);
        self.v1 = zip(self.v1, zipper(self.v0), u64::wrapping_add);
    }

    /// What is left of the data, fewer than 32 bytes.
    fn update_rest(&mut self) {
        let len = self.rest_len;
        let size = len as u64;
        self.v0 = self.v0.map(|lane| lane.wrapping_add((size << 32) + size));
        self.v1 = self.v1.map(|lane| rotate_halves(lane, size));
        let rest = self.rest.get(..len).unwrap_or_default();
        let (whole, odd) = rest.split_at(len & !3);
        let mut packet = [0; PACKET];
        put(&mut packet, 0, whole);
        if len & 16 != 0 {
            put(&mut packet, 28, rest.get(len - 4..).unwrap_or_default());
        } else if let (Some(first), Some(middle), Some(last)) =
            (odd.first(), odd.get(odd.len() / 2), odd.last())
        {
            put(&mut packet, 16, &[*first, *middle, *last]);
        }
        self.update(lanes(&packet));
    }
}

const LOW: u64 = 0xffff_ffff;

fn put(packet: &mut [u8; PACKET], at: usize, bytes: &[u8]) {
    for (to, from) in packet.iter_mut().skip(at).zip(bytes) {
        *to = *from;
    }
}

/// Both halves of a lane, each turned left.
const fn rotate_halves(lane: u64, by: u64) -> u64 {
    #[expect(clippy::cast_possible_truncation, reason = "halves, and fewer than 32")]
    let (low, high, by) = (lane as u32, (lane >> 32) as u32, by as u32);
    (low.rotate_left(by) as u64) | ((high.rotate_left(by) as u64) << 32)
}

fn lanes(bytes: &[u8; 32]) -> [u64; 4] {
    let mut lanes = [0; 4];
    for (lane, bytes) in lanes.iter_mut().zip(bytes.chunks_exact(8)) {
        *lane = u64::from_le_bytes(bytes.try_into().unwrap_or_default());
    }
    lanes
}

fn zip(a: [u64; 4], b: [u64; 4], f: impl Fn(u64, u64) -> u64) -> [u64; 4] {
    let mut out = a;
    for (a, b) in out.iter_mut().zip(b) {
        *a = f(*a, b);
    }
    out
}

/// Bytes of two neighbouring lanes, mixed so that each result has some of both.
fn zipper(v: [u64; 4]) -> [u64; 4] {
    let [a, b, c, d] = v;
    let (first, second) = zipper_pair(a, b);
    let (third, fourth) = zipper_pair(c, d);
    [first, second, third, fourth]
}

const fn zipper_pair(even: u64, odd: u64) -> (u64, u64) {
    let to_even = (((even & 0xff00_0000) | (odd & 0x00ff_0000_0000)) >> 24)
        | (((even & 0xff00_0000_0000) | (odd & 0x00ff_0000_0000_0000)) >> 16)
        | (even & 0x00ff_0000)
        | ((even & 0xff00) << 32)
        | ((odd & 0xff00_0000_0000_0000) >> 8)
        | (even << 56);
    let to_odd = (((odd & 0xff00_0000) | (even & 0x00ff_0000_0000)) >> 24)
        | (odd & 0x00ff_0000)
        | ((odd & 0xff00_0000_0000) >> 16)
        | ((odd & 0xff00) << 24)
        | ((even & 0x00ff_0000_0000_0000) >> 8)
        | ((odd & 0xff) << 48)
        | (even & 0xff00_0000_0000_0000);
    (to_even, to_odd)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference's own vectors: the hash of 0, 1, 2, … n - 1 with the key 0, 1, … 31.
    #[test]
    fn known_answers() {
        let mut key = [0; 32];
        for (n, byte) in (0..).zip(&mut key) {
            *byte = n;
        }
        let data: Vec<u8> = (0..64).collect();
        for (len, expected) in [
            (0, 0x907A_56DE_22C2_6E53_u64),
            (1, 0x7EAB_43AA_C7CD_DD78),
            (2, 0xB8D0_569A_B0B5_3D62),
            (3, 0x5C6B_EFAB_8A46_3D80),
            (4, 0xF205_A468_9300_7EDA),
        ] {
            let mut hash = Highway::new(&key);
            hash.write(&data[..len]);
            assert_eq!(u64::from_le_bytes(hash.finish()), expected, "length {len}");
        }
    }
}
