//! Sizes and counts that nothing goes beyond.

/// One sector: what a disk writes whole or not at all.
pub const SECTOR_BYTES: usize = 512;
/// A boot state is one sector, so that no power cut leaves half of one.
pub const BOOT_STATE_BYTES: usize = SECTOR_BYTES;
/// Where the copies of the boot state lie in their partition.
pub const BOOT_STATE_COPY_BYTES: [u64; 2] = [0, 4096];
/// Starts that a slot on trial gets.
pub const TRIAL_TRIES: u8 = 3;
/// Starts that a confirmed slot gets in a row without being found well: power cuts at each start
/// must not lead back to an old slot soon.
pub const CONFIRMED_TRIES: u8 = 9;
/// What a part of a bundle is cut into; each piece is verified before it is written.
pub const PIECE_BYTES: usize = 1024 * 1024;
/// A packed piece: gzip makes nothing much larger.
pub const PACKED_PIECE_BYTES_MAX: usize = PIECE_BYTES + 4096;
/// A bundle's manifest.
pub const MANIFEST_BYTES_MAX: usize = 512 * 1024;
/// Parts of a bundle.
pub const PARTS_MAX: usize = 8;
/// Partitions that a table has room for.
pub const PARTITIONS_MAX: usize = 128;
