//! Decision tests: the core against a scripted park that records every call, without threads. Each test
//! asserts the whole list of calls.
#![cfg(not(parkade_loom))]

mod script;

mod config;
mod dump;
mod full;
mod growing;
mod interrupted;
mod lingering;
mod looking;
mod lot;
mod requeueing;
mod retiring;
mod stopping;
mod taking_back;
mod waking;
