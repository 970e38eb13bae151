//! What is for those who look after boxes, and not for who is on a box's own network.

use frond_config::Config;
use frond_leaf::Reserved;

use crate::beside;

/// Requests by which a stream is made another one, or loses messages.
const CHANGES: [&str; 9] = [
    "STREAM.CREATE",
    "STREAM.UPDATE",
    "STREAM.DELETE",
    "STREAM.PURGE",
    "STREAM.RESTORE",
    "STREAM.SNAPSHOT",
    "STREAM.MSG.DELETE",
    "STREAM.PEER.REMOVE",
    "STREAM.LEADER.STEPDOWN",
];

/// Requests by which a stream is read, or others stop reading it.
const READS: [&str; 4] = ["DIRECT.GET", "STREAM.MSG.GET", "CONSUMER.*", "CONSUMER.*.*"];

/// How a leaf comes to a key: by its domain as a request.
fn ways(key: &str) -> [String; 3] {
    [
        format!("$JS.API.{key}"),
        format!("$JS.*.API.{key}"),
        key.to_owned(),
    ]
}

/// What boxes have no use for: they say how they are and follow their configuration. Nothing
/// without a `fleet` block.
pub(crate) fn reserved(config: &Config) -> Option<Reserved> {
    let fleet = config.fleet.as_ref()?;
    let mut said = vec!["$FROND.FLEET.>".to_owned()];
    for bucket in [&fleet.bucket, &fleet.rollouts] {
        let key = format!("$KV.{bucket}.>");
        // By its domain a leaf reaches them as requests.
        said.extend(ways(&key));
    }
    for bucket in [&fleet.bucket, &fleet.registry, &fleet.rollouts] {
        let changes = CHANGES.iter().flat_map(|change| {
            let asked = format!("API.{change}.KV_{bucket}");
            [format!("$JS.{asked}"), format!("$JS.*.{asked}")]
        });
        said.extend(changes);
    }
    // What boxes say, and what is told to whom, is read by nobody who has no part in it.
    for bucket in [&fleet.registry, &fleet.rollouts] {
        let reads = READS.iter().flat_map(|read| {
            let asked = format!("API.{read}.KV_{bucket}");
            [format!("$JS.{asked}"), format!("$JS.*.{asked}")]
        });
        let both = reads.flat_map(|it| [format!("{it}.>"), it]);
        said.extend(both);
    }
    let reports = format!("$KV.{}.>", fleet.registry);
    let heard = [
        "$FROND.FLEET.*",
        "$SRV.*.frond-fleet",
        "$SRV.*.frond-fleet.>",
        // What boxes say is for nobody who could say it again, neither as they say it nor as it
        // is brought to the service.
        &reports,
        "_INBOX.frond-fleet.>",
    ];
    Some(Reserved {
        account: beside::home(config),
        said,
        own: ways(&format!("$KV.{}.", fleet.registry)).into(),
        heard: heard.map(str::to_owned).into(),
        named: "$FROND.FLEET.".to_owned(),
    })
}
