-- The customers that are not removed, as the view of the mirror with that name.
SELECT * FROM {{ source('customer_mirror', 'customers') }} WHERE is_active
