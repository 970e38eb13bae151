use std::path::Path;

use frond_monitor::CertEnds;

/// What tells a box's health besides its messages; `None` is unknown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vitals {
    /// What waits for the lines to hubs.
    pub backlog: Backlog,
    /// Bytes of the disk that are in use, and that there are.
    pub disk: Option<(u64, u64)>,
    /// Of the warmest place of the board, in °C.
    pub temperature_c: Option<f64>,
    /// How much of the flash's life is used, in percent.
    pub wear_percent: Option<u8>,
    /// When the first certificate ends, in seconds since 1970.
    pub certificate_ends_s: Option<i64>,
}

/// What waits for the lines to hubs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Messages that `forward` blocks keep.
    pub messages: u64,
    /// Bytes of them, and of what the lines were given and have not taken.
    pub bytes: u64,
    /// When the oldest of those messages came, in milliseconds since 1970.
    pub oldest_ms: Option<i64>,
}

impl Backlog {
    /// Of all blocks, with so many bytes that lines have not taken.
    pub(super) fn of(blocks: &[frond_forward::Status], pending_bytes: u64) -> Self {
        let mut all = Self {
            bytes: pending_bytes,
            ..Self::default()
        };
        for block in blocks {
            all.messages = all.messages.saturating_add(block.backlog_messages);
            all.bytes = all.bytes.saturating_add(block.backlog_bytes);
            all.oldest_ms = [all.oldest_ms, block.oldest_ms].into_iter().flatten().min();
        }
        all
    }
}

const SYS: &str = "/sys";

/// The warmest of the board's thermal zones, in °C.
pub(super) fn temperature_c() -> Option<f64> {
    let zones = read_each(
        &Path::new(SYS).join("class/thermal"),
        "thermal_zone",
        "temp",
    );
    let millis = zones
        .iter()
        .filter_map(|text| text.trim().parse::<f64>().ok());
    millis.map(|millis| millis / 1000.0).reduce(f64::max)
}

/// The most worn part of the most worn flash, in percent: it tells in steps of ten.
///
/// spec: JEDEC JESD84-B51 7.4.16, `EXT_CSD` `DEVICE_LIFE_TIME_EST`
pub(super) fn wear_percent() -> Option<u8> {
    let disks = read_each(&Path::new(SYS).join("block"), "mmcblk", "device/life_time");
    disks.iter().filter_map(|text| worn(text)).max()
}

fn worn(text: &str) -> Option<u8> {
    let steps = text.split_whitespace().filter_map(|word| {
        let digits = word.trim_start_matches("0x");
        u8::from_str_radix(digits, 16).ok().filter(|step| *step > 0)
    });
    steps.max().map(|step| step.saturating_mul(10).min(110))
}

/// A file of each folder whose name begins so.
fn read_each(dir: &Path, prefix: &str, file: &str) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let named = entries.filter(|it| it.file_name().to_string_lossy().starts_with(prefix));
    let read = named.filter_map(|it| std::fs::read_to_string(it.path().join(file)).ok());
    read.collect()
}

/// When the first of them ends.
pub(super) fn first_end_s(certs: &CertEnds) -> Option<i64> {
    let all = [
        certs.client,
        certs.cluster,
        certs.gateway,
        certs.leaf,
        certs.websocket,
    ];
    let ends = all.into_iter().flatten();
    ends.map(|end| end.as_nanos().div_euclid(1_000_000_000))
        .min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_what_all_blocks_keep_and_the_oldest_counts() {
        let block = |backlog_messages, backlog_bytes, oldest_ms| frond_forward::Status {
            backlog_messages,
            backlog_bytes,
            oldest_ms,
            ..frond_forward::Status::default()
        };
        let all = [
            block(3, 30, Some(9)),
            block(2, 20, Some(7)),
            block(0, 0, None),
        ];
        let backlog = Backlog {
            messages: 5,
            bytes: 54,
            oldest_ms: Some(7),
        };
        assert_eq!(Backlog::of(&all, 4), backlog);
        assert_eq!(Backlog::of(&[], 0), Backlog::default());
    }

    #[test]
    fn wear_is_read_in_steps_and_unknown_where_it_is_not_told() {
        assert_eq!(worn("0x01 0x02\n"), Some(20));
        assert_eq!(worn("0x0b 0x01"), Some(110));
        assert_eq!(worn("0x00 0x00"), None);
        assert_eq!(worn(""), None);
    }
}
