//! Lines that break again and again: a share of what `cargo run -p interop --example flaps` does.

use interop::flaps::{Flap, Flaps};

/// 0 lost, 0 doubled, back within two ping intervals, never down with nothing planned.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_flapping_link_comes_back_and_loses_nothing() {
    let plan = Flaps {
        lanes: 12,
        flaps: 156,
        seed: 1,
    };
    let report = plan.run().await;
    assert!(report.is_clean(), "{report}");
    assert!(report.count() >= plan.flaps, "{report}");
    for flap in [Flap::Reset, Flap::Close, Flap::Bytes, Flap::Slow] {
        assert!(report.flaps.contains_key(&flap), "{flap:?}: {report}");
    }
}
