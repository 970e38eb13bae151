//! What a box thins out is what is said on this box: what is said on other boxes, and would come
//! here over the line because somebody here listens to it, stays there.

use crate::config::Config;

impl Config {
    /// Subjects that `conditions` listen to do not come in over any remote.
    pub(crate) fn keep_apart(&mut self) {
        let conditions = self.appliance.iter().flat_map(|it| &it.conditions);
        for condition in conditions {
            let from = &condition.from;
            for remote in &mut self.leafnodes.remotes {
                if !remote.deny_imports.contains(from) {
                    remote.deny_imports.push(from.clone());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Nothing, load_text};

    #[test]
    fn what_goes_up_does_not_come_down() {
        let text = "server_name: a\njetstream: enabled\nleafnodes { remotes: [ { url: \"nats://one\" }, \
            { url: \"nats://two\", deny_imports: \"b.>\" } ] }\n\
            forward { subjects: [\"a.>\", \"b.>\"], to { domain: hub, remote: two } }\n\
            appliance { conditions: [ { from: \"raw.>\", to: \"up.>\" } ] }\n";
        let config = load_text(text, "x.conf", &Nothing).unwrap().config;
        let denied = config
            .leafnodes
            .remotes
            .iter()
            .map(|it| it.deny_imports.join(" "));
        assert_eq!(
            denied.collect::<Vec<_>>(),
            [
                "a.> b.> $FROND.forward.> raw.>",
                "b.> a.> $FROND.forward.> raw.>"
            ]
        );
    }
}
