use std::collections::BTreeMap;

use frond_clock::Timestamp;

use super::cert::Certificate;

/// Says that certificates end soon: 30, 7 and 1 days before, and when they have ended.
#[derive(Debug, Default)]
pub(crate) struct Expiry {
    /// By certificate: the last step that was said.
    told: BTreeMap<String, Step>,
}

/// How close the end is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    Month,
    Week,
    Day,
    Ended,
}

/// Something to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) step: Step,
    pub(crate) text: String,
}

const DAY_NS: i64 = 86_400 * 1_000_000_000;

impl Expiry {
    /// What is to be said now of these certificates, each with where it is used.
    pub(crate) fn look(
        &mut self,
        now: Timestamp,
        certs: &[(&'static str, Certificate)],
    ) -> Vec<Notice> {
        self.told
            .retain(|sha, _| certs.iter().any(|(_, cert)| cert.sha256 == *sha));
        let mut notices = Vec::new();
        for (place, cert) in certs {
            let left = cert.not_after_ns.saturating_sub(now.as_nanos());
            let step = match left {
                ..0 => Step::Ended,
                _ if left <= DAY_NS => Step::Day,
                _ if left <= 7 * DAY_NS => Step::Week,
                _ if left <= 30 * DAY_NS => Step::Month,
                _ => continue,
            };
            if self
                .told
                .get(&cert.sha256)
                .is_some_and(|told| *told >= step)
            {
                continue;
            }
            self.told.insert(cert.sha256.clone(), step);
            let end = Timestamp::from_nanos(cert.not_after_ns);
            let text = match step {
                Step::Ended => format!("the TLS certificate of {place} ended at {end}: replace it"),
                Step::Month | Step::Week | Step::Day => {
                    let days = left.div_euclid(DAY_NS);
                    format!("the TLS certificate of {place} ends in {days} days, at {end}")
                }
            };
            notices.push(Notice { step, text });
        }
        notices
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_is_said_once() {
        let cert = Certificate {
            not_after_ns: 100 * DAY_NS,
            sha256: "a".into(),
            ..Certificate::default()
        };
        let certs = [("clients", cert.clone())];
        let mut expiry = Expiry::default();
        let mut said = Vec::new();
        for hour in 0..24 * 110 {
            let now = Timestamp::from_nanos(hour * DAY_NS / 24);
            for notice in expiry.look(now, &certs) {
                said.push((hour / 24, notice.step));
            }
        }
        let want = [
            (70, Step::Month),
            (93, Step::Week),
            (99, Step::Day),
            (100, Step::Ended),
        ];
        assert_eq!(said, want);
        // Another one in its place is said anew; one that was said at the start is not said late.
        let other = Certificate {
            sha256: "b".into(),
            ..cert
        };
        let now = Timestamp::from_nanos(98 * DAY_NS);
        let steps = |expiry: &mut Expiry, cert: &Certificate| {
            let notices = expiry.look(now, &[("clients", cert.clone())]);
            notices.iter().map(|notice| notice.step).collect::<Vec<_>>()
        };
        assert_eq!(steps(&mut expiry, &other), [Step::Week]);
        assert!(steps(&mut expiry, &other).is_empty());
    }
}
