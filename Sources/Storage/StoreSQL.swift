/// The SQL of the store, all of it.
///
/// Pushes are a table that only grows at its end and is read whole at the start: the index is in memory. It has no
/// other key, because each further index costs five to ten times as much as the row.
package enum StoreSQL {
    static let schema = Schema(
        // "Cari".
        applicationID: 0x4361_7269,
        migrations: migrations,
        isPrecious: true,
        // FULL syncs before each commit returns, which is what makes a 200 true. The write-ahead log is copied into the
        // file every 4 MiB: every 16 saves 10 % of the bytes, but holds a commit up for 100 ms and more instead of 40.
        connection: "pragma synchronous = full; pragma wal_autocheckpoint = 1000; pragma cache_size = -65536;"
    )

    private static let migrations = [
        """
        create table pushes(
            number integer primary key, registration integer not null, priority integer not null,
            type integer not null, expires integer not null, accepted integer not null,
            apns_id blob not null, unique_id blob not null, collapse_id blob not null, payload blob not null
        ) strict;
        create table registrations(
            number integer primary key autoincrement, token blob not null, device integer, topic text not null,
            created integer not null, state integer not null, revoked integer
        ) strict;
        create table devices(
            id integer primary key, name text not null, key_type text not null, base_token blob not null,
            not_after integer not null, created integer not null, removed integer
        ) strict;
        create table apps(
            bundle text primary key, team text not null, broadcast integer not null
        ) strict, without rowid;
        create table keys(
            key_id text primary key, team text not null, environment text not null, topics text not null,
            public_key blob not null, created integer not null, revoked integer
        ) strict, without rowid;
        create table reserved(numbers integer not null) strict;
        insert into reserved values (0);
        """,
        // Which authority signed a device's certificate: one that is replaced must not go before they are. The first
        // databases of version 1 also had a table that nothing used.
        """
        alter table devices add column signer integer not null default 0;
        drop table if exists settings;
        """,
    ]

    /// Adds a push.
    package static let insertPush = """
        insert into pushes(number, registration, priority, type, expires, accepted, apns_id, unique_id, collapse_id,
            payload) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """
    static let deletePush = "delete from pushes where number = ?"
    static let reserve = "update reserved set numbers = ?"
    static let saveRegistration = """
        insert or replace into registrations(number, token, device, topic, created, state, revoked)
        values (?, ?, ?, ?, ?, ?, ?)
        """
    static let deleteRegistration = "delete from registrations where number = ?"
    static let saveDevice = """
        insert or replace into devices(id, name, key_type, base_token, not_after, created, removed, signer)
        values (?, ?, ?, ?, ?, ?, ?, ?)
        """
    static let saveApp = "insert or replace into apps(bundle, team, broadcast) values (?, ?, ?)"
    static let deleteApp = "delete from apps where bundle = ?"
    static let saveKey = """
        insert or replace into keys(key_id, team, environment, topics, public_key, created, revoked)
        values (?, ?, ?, ?, ?, ?, ?)
        """

    /// Every queued push, without its payload: a million of them are read at the start, and most wait for long.
    package static let pushes = """
        select number, registration, priority, type, expires, accepted, apns_id, unique_id, collapse_id, length(payload)
        from pushes order by number
        """
    static let payload = "select payload from pushes where number = ?"
    static let registrations = """
        select number, token, device, topic, created, state, revoked from registrations order by number
        """
    static let devices = """
        select id, name, key_type, base_token, not_after, created, removed, signer from devices order by id
        """
    static let apps = "select bundle, team, broadcast from apps order by bundle"
    static let keys = """
        select key_id, team, environment, topics, public_key, created, revoked from keys order by key_id
        """
    static let reserved = "select numbers from reserved"
    static let lastRegistration = "select seq from sqlite_sequence where name = 'registrations'"

    /// The settings of each connection to the store.
    package static var settings: String { schema.settings }
    /// What a start reads row by row.
    package static let startQueries = [apps, keys, devices, registrations, pushes]
}
