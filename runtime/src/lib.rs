//! parkade
