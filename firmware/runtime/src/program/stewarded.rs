//! A server whose configuration is looked after: it starts with what was chosen, and when that
//! doesn't start, anew with what is chosen then.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use super::{Product, serve};
use crate::options::Options;
use crate::steward::{Steward, Text, Took};

pub(super) fn serve_text(
    product: &Product,
    steward: &mut dyn Steward,
    reread: &dyn Fn(&Text) -> Result<Options, String>,
) -> Result<Took, String> {
    let text = steward.choose();
    let options = reread(&text)?;
    serve(product, options, Some((steward, text)), reread)
}

/// Runs it; the process is replaced by another one when it is to start anew.
pub(super) fn serve_looked_after(
    product: &Product,
    mut steward: Box<dyn Steward>,
    reread: &dyn Fn(&Text) -> Result<Options, String>,
) -> Result<(), String> {
    match serve_text(product, &mut *steward, reread) {
        Ok(Took::Nothing) => Ok(()),
        Ok(Took::Restart) => Err(start_anew()),
        Err(why) => {
            let told = steward.failed(&why);
            if told { Err(start_anew()) } else { Err(why) }
        }
    }
}

/// This process becomes a new one, with its number and its arguments; why it did not.
fn start_anew() -> String {
    let mut words = std::env::args_os();
    let called = words.next().unwrap_or_default();
    let program = std::env::current_exe().unwrap_or_else(|_| called.clone().into());
    let error = Command::new(program).arg0(called).args(words).exec();
    format!("cannot start anew: {error}")
}
