use std::path::Path;

use frond_monitor::CertEnds;

/// What tells a box's health besides its messages; `None` is unknown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vitals {
    /// Bytes that wait for the lines to hubs.
    pub backlog_bytes: u64,
    /// Bytes of the disk that are in use, and that there are.
    pub disk: Option<(u64, u64)>,
    /// Of the warmest place of the board, in °C.
    pub temperature_c: Option<f64>,
    /// How much of the flash's life is used, in percent.
    pub wear_percent: Option<u8>,
    /// When the first certificate ends, in seconds since 1970.
    pub certificate_ends_s: Option<i64>,
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
    fn wear_is_read_in_steps_and_unknown_where_it_is_not_told() {
        assert_eq!(worn("0x01 0x02\n"), Some(20));
        assert_eq!(worn("0x0b 0x01"), Some(110));
        assert_eq!(worn("0x00 0x00"), None);
        assert_eq!(worn(""), None);
    }
}
