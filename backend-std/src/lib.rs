//! parkade-std
