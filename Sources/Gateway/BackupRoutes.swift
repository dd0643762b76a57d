import Admin
import JSON
import PushCore
import Storage

/// `/v1/backups`: the store's part of a backup. `carillon backup` adds the files of the instance to it.
struct BackupRoutes {
    private let control: Control

    init(_ control: Control) { self.control = control }

    func respond(_ request: AdminRequest, _ id: String?) throws(AdminFailure) -> AdminResponse {
        guard let backups = control.backups else { throw .unusable("the store is memory: there is nothing to back up") }
        switch (request.method, id) {
        case ("POST", nil):
            guard let copy = backups.begin(at: control.now, control.shared.log) else {
                throw .exists("a backup is being made; wait for it")
            }
            return AdminResponse(status: 201, body: json { write(copy, backups.path, &$0) })
        case ("GET", let id?):
            guard let copy = backups.current, copy.id == id else { throw .notFound("no backup \(id)") }
            return AdminResponse(status: 200, body: json { write(copy, backups.path, &$0) })
        case ("DELETE", let id?):
            guard backups.remove(id) else { throw .notFound("no backup \(id)") }
            return AdminResponse(status: 204)
        default: throw .methodNotAllowed
        }
    }

    private func write(_ copy: Backups.Copy, _ path: String, _ writer: inout JSONWriter) {
        writer.field("id", copy.id)
        writer.field("startedAt", timestamp(copy.startedAt))
        writer.field("file", path)
        switch copy.state {
        case .running(let done, let total):
            writer.field("state", "running")
            writer.field("bytes", done)
            writer.field("totalBytes", total)
        case .done(let facts):
            writer.field("state", "done")
            writer.field("storeVersion", facts.version)
            writer.field("pushes", facts.pushes)
            writer.field("devices", facts.devices)
        case .failed(let error):
            writer.field("state", "failed")
            writer.field("error", error)
        }
    }
}
