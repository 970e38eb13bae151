use std::path::PathBuf;

use frond_ota::Target;

use super::{Hub, bucket, read_bytes, say, sign};

#[derive(Debug, clap::Args)]
pub(super) struct Publish {
    /// The bundle
    bundle: PathBuf,
    #[command(flatten)]
    hub: Hub,
}

impl Publish {
    pub(super) fn run(&self) -> Result<(), String> {
        let sealed = sign::read(&self.bundle)?;
        let content = sealed.content().ok_or("its content is unknown")?;
        let bytes = read_bytes(&self.bundle)?;
        let mut caller = self.hub.connect()?;
        self.hub.places().make(&mut caller)?;
        for target in &content.targets {
            let key = match target {
                Target::Device(name) => format!("device.{name}"),
                Target::Group(name) => format!("group.{name}"),
                Target::Everyone => "all".to_owned(),
            };
            bucket::put(&mut caller, &self.hub.bucket, &key, &bytes)?;
            say(&format!(
                "version {} is published at {key}",
                content.version
            ));
        }
        Ok(())
    }
}
