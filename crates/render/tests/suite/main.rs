//! Every renderer over a handful of reports made by hand.

mod hostile;
mod reading;
mod samples;
mod snapshots;
