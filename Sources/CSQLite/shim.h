#include <sqlite3.h>

/// Binds bytes that SQLite copies; the constant is a cast that Swift does not import.
static inline int carillon_bind_copy(sqlite3_stmt *statement, int index, const void *bytes, int count) {
    return sqlite3_bind_blob(statement, index, bytes, count, SQLITE_TRANSIENT);
}

/// Binds text that SQLite copies.
static inline int carillon_bind_text(sqlite3_stmt *statement, int index, const char *text, int count) {
    return sqlite3_bind_text(statement, index, text, count, SQLITE_TRANSIENT);
}

/// Closing the connection does not copy the write-ahead log into the database, nor delete it.
static inline void carillon_keep_log_at_close(sqlite3 *connection) {
    sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}
