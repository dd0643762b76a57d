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
            throw .badRequest("limit is a number from 1 to \(Limits.largestPage), not '\(text.excerpt)'")
        }
        limit = number
    }

    /// The page of `all`, which is sorted by `key` as text; keys are told to clients and come back as `after`.
    func response<Item>(_ all: [Item], key: (Item) -> String, write: (Item, inout JSONWriter) -> Void) -> AdminResponse
    {
        let (items, next) = cut(all, key: key)
        return response(items, next: next, write: write)
    }

    /// The items of the page and its `next`, for those that need more than the items to write them.
    func cut<Item>(_ all: [Item], key: (Item) -> String) -> (items: [Item], next: String?) {
        // By order, not by equality: what `after` names may be gone meanwhile.
        let rest = after.map { after in all.drop { key($0) <= after } } ?? all[...]
        let page = rest.prefix(limit)
        return (Array(page), page.count < rest.count ? page.last.map(key) : nil)
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

extension AdminRequest {
    /// A field of the query that is true or false; false when it is left out.
    func flag(_ name: String) throws(AdminFailure) -> Bool {
        switch query[name] {
        case nil, "false": return false
        case "true": return true
        case let text?: throw .badRequest("\(name) must be true or false, not '\(text.excerpt)'")
        }
    }
}

/// A number as a key of `ListPage`: as text in the same order.
func pageKey(_ number: UInt64) -> String {
    let digits = String(number)
    return String(repeating: "0", count: 20 - digits.utf8.count) + digits
}
