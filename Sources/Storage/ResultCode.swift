import CSQLite

/// A result of SQLite, with its extended part.
struct ResultCode: RawRepresentable, Equatable {
    let rawValue: Int32

    /// What went wrong without the details of how: SQLITE_IOERR for SQLITE_IOERR_FSYNC.
    var primary: Int32 { rawValue & 0xff }

    /// What an operator has to know about it.
    var kind: StoreError.Kind {
        switch primary {
        case SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_AUTH: .cannotOpen
        case SQLITE_BUSY, SQLITE_LOCKED: .inUse
        case SQLITE_CORRUPT, SQLITE_NOTADB: .damaged
        case SQLITE_FULL: .full
        case SQLITE_READONLY: .readOnly
        default: .failed
        }
    }
}
