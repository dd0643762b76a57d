import Admin
import JSON
import PushCore

/// A page of a list: `{"items":[...],"next":...}`.
struct ListPage {
    let limit: Int
    /// The `next` of the page before; nil for the first.
    let after: String?

    init(_ request: AdminRequest) throws(AdminFailure) {
        after = request.query["after"]
        guard let text = request.query["limit"] else {
            limit = Limits.pageItems
            return
        }
        guard let number = Int(text), (1...Limits.largestPage).contains(number) else {
            throw .badRequest("limit is a number from 1 to \(Limits.largestPage), not '\(text)'")
        }
        limit = number
    }

    /// The page of `all`, which is sorted by `key`; keys are told to clients and come back as `after`.
    func response<Item>(_ all: [Item], key: (Item) -> String, write: (Item, inout JSONWriter) -> Void) -> AdminResponse
    {
        let start = after.map { after in all.firstIndex { key($0) == after }.map { $0 + 1 } ?? all.count } ?? 0
        let page = all[start...].prefix(limit)
        let next = start + page.count < all.count ? page.last.map(key) : nil
        return response(Array(page), next: next, write: write)
    }

    func response<Item>(_ page: [Item], next: String?, write: (Item, inout JSONWriter) -> Void) -> AdminResponse {
        let body = json { writer in
            writer.key("items")
            writer.array { items in
                for item in page { items.object { write(item, &$0) } }
            }
            writer.field("next", next)
        }
        return AdminResponse(status: 200, body: body)
    }
}
